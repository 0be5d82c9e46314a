// Streams and events. All work is done when its call returns, so a stream is always idle.
#include <chrono>

#include "driver.h"

namespace attune::emulator {

struct Stream {};

struct Event {
    std::chrono::steady_clock::time_point time;
    bool recorded = false;
};

} // namespace attune::emulator

using namespace attune::emulator;

DRIVER_API cuStreamCreate(Stream **stream, unsigned) {
    return guarded_in_context([=] { *stream = new Stream; });
}
DRIVER_API cuStreamCreateWithPriority(Stream **stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
DRIVER_API cuStreamDestroy_v2(Stream *stream) {
    return guarded_in_context([=] {
        require(stream != nullptr, Status::invalid_handle);
        delete stream;
    });
}
DRIVER_API cuStreamSynchronize(Stream *) {
    return guarded_in_context([] {});
}
DRIVER_API cuStreamQuery(Stream *) {
    return guarded_in_context([] {});
}
DRIVER_API cuStreamWaitEvent(Stream *, Event *, unsigned) {
    return guarded_in_context([] {});
}
DRIVER_API cuStreamGetCtx(Stream *, Context **context) {
    return guarded_in_context([=] { *context = current_context(); });
}
DRIVER_API cuStreamIsCapturing(Stream *, int *status) {
    return guarded_in_context([=] { *status = 0; });
}
DRIVER_API cuEventCreate(Event **event, unsigned) {
    return guarded_in_context([=] { *event = new Event; });
}
DRIVER_API cuEventDestroy_v2(Event *event) {
    return guarded_in_context([=] {
        require(event != nullptr, Status::invalid_handle);
        delete event;
    });
}
DRIVER_API cuEventRecord(Event *event, Stream *) {
    return guarded_in_context([=] {
        require(event != nullptr, Status::invalid_handle);
        event->time = std::chrono::steady_clock::now();
        event->recorded = true;
    });
}
DRIVER_API cuEventSynchronize(Event *event) {
    return guarded_in_context([=] { require(event != nullptr, Status::invalid_handle); });
}
DRIVER_API cuEventQuery(Event *event) { return cuEventSynchronize(event); }
DRIVER_API cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
    return guarded_in_context([=] {
        require(start != nullptr && end != nullptr && start->recorded && end->recorded, Status::invalid_handle);
        *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    });
}
DRIVER_API cuEventElapsedTime_v2(float *milliseconds, Event *start, Event *end) { return cuEventElapsedTime(milliseconds, start, end); }

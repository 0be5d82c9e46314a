"""The operations in float64 with plain loops, to check the command's files against."""
import math

from npy import Array

INF = math.inf


def attention(q, k, v, mask=lambda b, h, i, j: True, bias=lambda b, h, i, j: 0.0, scale=None, softcap=0.0, temperature=1.0, sinks=None,
              drop=lambda b, h, i, j: False, keep=1.0):
    """Rank-4 arrays in; output, log-sum-exp and weights out, as rank-4, 3 and 4. Weights that aren't dropped are divided by `keep`."""
    (batch, heads, queries, dim), keys, width = q.shape, k.shape[2], v.shape[3]
    scale = 1 / math.sqrt(dim) if scale is None else scale
    out, lse, weights = [], [], []
    for b in range(batch):
        for h in range(heads):
            shared = h // (heads // k.shape[1])
            for i in range(queries):
                scores = []
                for j in range(keys):
                    score = scale * sum(q[b, h, i, d] * k[b, shared, j, d] for d in range(dim))
                    score = softcap * math.tanh(score / softcap) if softcap else score
                    score = (score + bias(b, h, i, j)) / temperature
                    scores.append(score if mask(b, h, i, j) else -INF)
                row, total = softmax_row(scores if sinks is None else scores + [sinks[h,]])
                row = [0.0 if drop(b, h, i, j) else row[j] / keep for j in range(keys)]
                lse.append(total)
                weights += row
                out += [sum(w * v[b, shared, j, d] for j, w in enumerate(row) if w) for d in range(width)]
    return (Array((batch, heads, queries, width), out), Array((batch, heads, queries), lse), Array((batch, heads, queries, keys), weights))


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al., SC11): four words of 32 bits."""
    a, b, c, d = counter
    for turn in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        low, high = (key[0] + turn * 0x9E3779B9) & 0xFFFFFFFF, (key[1] + turn * 0xBB67AE85) & 0xFFFFFFFF
        a, b, c, d = (second >> 32) ^ b ^ low, second & 0xFFFFFFFF, (first >> 32) ^ d ^ high, first & 0xFFFFFFFF
    return a, b, c, d


def dropped(p, seed):
    """Which weights dropout of probability p drops."""
    key = (seed & 0xFFFFFFFF, seed >> 32)
    return lambda b, h, i, j: philox((j // 4, i, h, b), key)[j % 4] < math.floor(p * 2**32)


def softmax_row(scores):
    """Weights and log-sum-exp of one row; zeros and -inf where there is nothing to attend to."""
    largest = max(scores, default=-INF)
    if largest == -INF:
        return [0.0] * len(scores), -INF
    terms = [math.exp(score - largest) for score in scores]
    total = sum(terms)
    return [term / total for term in terms], largest + math.log(total)


def rotary(x, base=10000.0, interleaved=False, rotary_dim=None, offset=0, position=None, sections=(), axes=1, scaled=None):
    """[..., tokens, dim]: pairs of channels turned by position(stream, batch, token) * base^(-2 pair / width of an axis).

    Section s takes the next sections[s] pairs, axis a an equal share of the channels; scaled(frequency) replaces a frequency."""
    tokens, dim = x.shape[-2:]
    width = dim if rotary_dim is None else rotary_dim
    axis_width, values = width // axes, list(x.values)
    position = position or (lambda stream, batch, token: token + offset)
    for row in range(len(values) // dim if dim else 0):
        batch = row // tokens // x.shape[1] if len(x.shape) == 4 else 0
        for pair in range(width // 2):
            axis, local = divmod(pair, axis_width // 2)
            first = 2 * pair if interleaved else axis * axis_width + local
            second = first + 1 if interleaved else first + axis_width // 2
            stream = sum(pair >= sum(sections[:s + 1]) for s in range(len(sections))) if sections else axis
            frequency = base ** (-2 * local / axis_width)
            angle = position(stream, batch, row % tokens) * (scaled(frequency) if scaled else frequency)
            a, b = x.values[row * dim + first], x.values[row * dim + second]
            values[row * dim + first] = a * math.cos(angle) - b * math.sin(angle)
            values[row * dim + second] = b * math.cos(angle) + a * math.sin(angle)
    return Array(x.shape, values)


def sinusoidal(tokens, dim, base=10000.0, offset=0):
    turn = lambda column, angle: math.cos(angle) if column % 2 else math.sin(angle)
    return Array((tokens, dim), [turn(c, (t + offset) * base ** (-2 * (c // 2) / dim)) for t in range(tokens) for c in range(dim)])

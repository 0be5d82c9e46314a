"""The operations in float64 with plain loops, to check the command's files against."""
import math

from npy import Array

INF = math.inf


def attention(q, k, v, mask=lambda b, h, i, j: True, bias=lambda b, h, i, j: 0.0, scale=None, softcap=0.0, temperature=1.0):
    """Rank-4 arrays in; output, log-sum-exp and weights out, as rank-4, 3 and 4."""
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
                row, total = softmax_row(scores)
                lse.append(total)
                weights += row
                out += [sum(w * v[b, shared, j, d] for j, w in enumerate(row) if w) for d in range(width)]
    return (Array((batch, heads, queries, width), out), Array((batch, heads, queries), lse), Array((batch, heads, queries, keys), weights))


def softmax_row(scores):
    """Weights and log-sum-exp of one row; zeros and -inf where there is nothing to attend to."""
    largest = max(scores, default=-INF)
    if largest == -INF:
        return [0.0] * len(scores), -INF
    terms = [math.exp(score - largest) for score in scores]
    total = sum(terms)
    return [term / total for term in terms], largest + math.log(total)


def rotary(x, base=10000.0, interleaved=False, rotary_dim=None, offset=0):
    """[..., tokens, dim]: pairs of channels turned by position * base^(-2 pair / rotary_dim)."""
    tokens, dim = x.shape[-2:]
    width = dim if rotary_dim is None else rotary_dim
    values = list(x.values)
    for row in range(len(values) // dim if dim else 0):
        position = row % tokens + offset
        for pair in range(width // 2):
            a, b = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + width // 2)
            angle = position * base ** (-2 * pair / width)
            first, second = x.values[row * dim + a], x.values[row * dim + b]
            values[row * dim + a] = first * math.cos(angle) - second * math.sin(angle)
            values[row * dim + b] = second * math.cos(angle) + first * math.sin(angle)
    return Array(x.shape, values)


def sinusoidal(tokens, dim, base=10000.0, offset=0):
    turn = lambda column, angle: math.cos(angle) if column % 2 else math.sin(angle)
    return Array((tokens, dim), [turn(c, (t + offset) * base ** (-2 * (c // 2) / dim)) for t in range(tokens) for c in range(dim)])

import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Whether a request comes from the paymaster service. `payload`: the raw body of a POST, the path with its query of a GET, as
 * received. `signingKey`: the text that creating the policy answered; the text itself is the key, it is not decoded.
 */
export function verify({ headers, payload, signingKey, now = Date.now() }) {
  const timestamp = headers['x-timestamp'] ?? '';
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= 300)) return false;
  const expected = createHmac('sha256', signingKey).update(`${timestamp}.`).update(payload).digest();
  return ['x-signature', 'x-signature-next'].some((name) => {
    const given = Buffer.from(headers[name] ?? '', 'hex');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

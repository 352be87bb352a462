import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Whether a request comes from the paymaster service. `url`: path and query, and `body`: the bytes, both as received.
 * `signingKey`: the text that creating the policy answered; the text itself is the key, it is not decoded.
 */
export function verify({ method, url, headers, body, signingKey, now = Date.now() }) {
  const { 'x-timestamp': timestamp = '', 'x-policy-id': policyId = '', 'x-test-delivery': test } = headers;
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= 300)) return false;
  const signed = ['v2', timestamp, policyId, test === undefined ? 'live' : 'test', method, url, ''].join(
    '\n',
  );
  const digest = createHmac('sha256', signingKey).update(signed).update(body).digest('hex');
  const expected = Buffer.from(`v2=${digest}`);
  return ['x-signature', 'x-signature-next'].some((name) => {
    const given = Buffer.from(headers[name] ?? '');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

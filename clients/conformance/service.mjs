// The service under test, as a wallet reaches it.

const deadlineMs = 30_000;

/** `{ status, headers, text, answer }` of one POST; `answer` is the parsed body, undefined where it is not JSON. Rejects where nothing answers. */
export async function post(url, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: 'https://wallet.example' },
    body,
    signal: AbortSignal.timeout(deadlineMs),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, answer: parsed(text) };
}

export function call(url, method, params, id = 1) {
  return post(url, JSON.stringify({ jsonrpc: '2.0', id, method, params }));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Bytes of a hex text; undefined for anything else. */
export function bytesOf(value) {
  if (typeof value !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(value)) return undefined;
  return Uint8Array.from(value.slice(2).match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

export function isQuantity(value) {
  return typeof value === 'string' && /^0x(0|[1-9a-f][0-9a-f]*)$/i.test(value);
}

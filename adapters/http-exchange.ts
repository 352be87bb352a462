export type HttpAnswer = { readonly status: number; readonly body: string };

export class BodyTooLarge extends Error {
  readonly code = 'BODY_TOO_LARGE';
}

/** The body of an answer as UTF-8 text. Throws BodyTooLarge beyond `mostBytes`, or the error of the network. */
export async function readBody(body: AsyncIterable<Buffer>, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the body and with it the connection.
    if (size > mostBytes) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A member of an error that is a text. Not by instanceof: a DOMException of the runtime is not an Error in every realm. */
export function errorText(error: unknown, name: 'code' | 'name'): string | undefined {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** The header `Authorization` that stands for the user and password of a URL; undefined when it has neither. */
export function basicAuth({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(user).toString('base64')}`;
}

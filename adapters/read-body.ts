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

import { once } from 'node:events';
import type { Response } from 'express';
import type { Envelope } from './envelope.js';
import type { List } from './endpoint.js';

/**
 * Writes the records as `data` of the envelope, one by one and as fast as the client reads. Resolves when the client has them, or is
 * gone.
 */
export async function sendList(
  response: Response,
  envelope: Envelope,
  { records, cursor }: List,
): Promise<void> {
  const head = `${JSON.stringify(envelope).slice(0, -1)},"data":[`;
  const tail = cursor === undefined ? ']}' : `],"cursor":${JSON.stringify(cursor)}}`;
  response.type('application/json');
  if (Array.isArray(records)) response.send(head + records.join(',') + tail);
  else await writeEach(response, head, records, tail);
  if (!response.closed) await new Promise((resolve) => response.once('close', resolve));
}

async function writeEach(
  response: Response,
  head: string,
  records: List['records'],
  tail: string,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  let separator = head;
  try {
    for await (const record of records) {
      const isFull = !response.write(separator + record);
      separator = ',';
      if (gone.signal.aborted) return;
      if (isFull) await once(response, 'drain', { signal: gone.signal });
    }
    response.end((separator === head ? head : '') + tail);
  } catch (error) {
    // Half a list must not look like a whole one.
    response.destroy();
    if (!gone.signal.aborted) throw error;
  }
}

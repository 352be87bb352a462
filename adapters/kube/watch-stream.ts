import { errorOfStatus } from './api-error.js';
import { CorruptStreamError, LineSplitter } from './line-splitter.js';
import { parseWatchEvent, type KubeWatchEvent } from './objects.js';
import { messageOf } from '../../core/errors.js';
import { fieldOf } from '../../core/schema/json-value.js';
import { turn } from '../timers.js';

/** Any event except the server's report that the watch has failed. */
export type KubeChange = Exclude<KubeWatchEvent, { type: 'ERROR' }>;

const changesPerSlice = 256;
const sliceMs = 8;

/**
 * Reads a watch to its end and resolves with the number of its changes. Yields to the event loop during long runs of
 * changes. `onBytes` is called with each chunk before its changes, `onRead` after them. Throws CorruptStreamError for a
 * line that is not an event or a stream cut inside one, and KubeApiError for the server's own error.
 */
export async function readWatch(
  chunks: AsyncIterable<Buffer>,
  on: {
    readonly onBytes: () => void;
    readonly onChange: (change: KubeChange) => void;
    readonly onRead: () => void;
  },
): Promise<number> {
  const splitter = new LineSplitter();
  let changes = 0;
  let ofSlice = 0;
  let sliceStarted = performance.now();
  for await (const chunk of chunks) {
    on.onBytes();
    for (const line of splitter.push(chunk)) {
      const event = parseLine(line);
      if (event.type === 'ERROR') throw errorOfStatus(statusCodeOf(event.status), event.status);
      changes += 1;
      on.onChange(event);
      if (++ofSlice < changesPerSlice && performance.now() - sliceStarted <= sliceMs) continue;
      await turn();
      ofSlice = 0;
      sliceStarted = performance.now();
    }
    on.onRead();
  }
  splitter.end();
  return changes;
}

function parseLine(line: Buffer): KubeWatchEvent {
  try {
    return parseWatchEvent(line);
  } catch (error) {
    throw new CorruptStreamError(messageOf(error));
  }
}

function statusCodeOf(status: unknown): number {
  const code = fieldOf(status, 'code');
  return typeof code === 'number' ? code : 500;
}

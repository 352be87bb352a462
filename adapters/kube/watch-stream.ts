import { errorOfStatus } from './api-error.js';
import { parseWatchEvent, type KubeWatchEvent } from './objects.js';
import { errorMessage } from '../../core/errors.js';
import { readField } from '../../core/schema/json-value.js';
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
      if (event.type === 'ERROR') throw errorOfStatus(readStatusCode(event.status), event.status);
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
    throw new CorruptStreamError(errorMessage(error));
  }
}

function readStatusCode(status: unknown): number {
  const code = readField(status, 'code');
  return typeof code === 'number' ? code : 500;
}

/** A watch stream that can no longer be trusted: abort it and resume from the last resourceVersion. */
export class CorruptStreamError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CorruptStreamError';
  }
}

const maxLineBytes = 16 * 1024 * 1024;
const newline = 0x0a;

/**
 * Splits a byte stream into lines. It works on bytes, so a character cut between two chunks stays whole. It keeps the
 * chunks of an unfinished line in a list, so a large object costs one copy. A rest without a newline at the end of the
 * stream is a truncated frame, never an event.
 */
class LineSplitter {
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  /** Whole lines that end in this chunk, without their newline; empty lines are left out. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const line = this.#finish(chunk.subarray(start, end));
      if (line.length > 0) lines.push(line);
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** Throws when the stream ended inside a line. */
  end(): void {
    if (this.#pendingBytes > 0)
      throw new CorruptStreamError(`the stream ended inside a line of ${this.#pendingBytes} bytes`);
  }

  #finish(rest: Buffer): Buffer {
    if (this.#pendingBytes === 0) return rest;
    this.#keep(rest);
    const line = Buffer.concat(this.#pending, this.#pendingBytes);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }

  #keep(part: Buffer): void {
    this.#pending.push(part);
    this.#pendingBytes += part.length;
    if (this.#pendingBytes > maxLineBytes)
      throw new CorruptStreamError(`a line is longer than ${maxLineBytes} bytes`);
  }
}

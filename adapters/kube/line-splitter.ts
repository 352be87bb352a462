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
export class LineSplitter {
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

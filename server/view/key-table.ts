/**
 * A Map from SHA-256, as 64 lowercase hex digits, to a value, for a hundred thousand keys that are asked for at random.
 *
 * A Map of texts finds such a key by way of a bucket, an entry or two, and the text of each: memory that no cache holds.
 * Here the digest itself stands in the table, in one cache line with the place of its value (open addressing, linear
 * probing, at most half full). 224 of its bits are kept: finding two keys that agree in them is as hopeless as in 256.
 */
export class KeyTable<T> {
  #rows = new Int32Array(wordsPerRow * leastRows);
  #mask = leastRows - 1;
  #size = 0;
  readonly #values: (T | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #asked = new Int32Array(digestWords);

  get size(): number {
    return this.#size;
  }

  get(sha256: string): T | undefined {
    const place = this.#rows[this.#find(sha256) + digestWords]!;
    return place === 0 ? undefined : this.#values[place];
  }

  set(sha256: string, value: T): void {
    if (2 * (this.#size + 1) > this.#mask) this.#grow();
    const at = this.#find(sha256);
    const known = this.#rows[at + digestWords]!;
    const place = known === 0 ? (this.#free.pop() ?? Math.max(1, this.#values.length)) : known;
    this.#values[place] = value;
    if (known !== 0) return;
    this.#rows.set(this.#asked, at);
    this.#rows[at + digestWords] = place;
    this.#size += 1;
  }

  delete(sha256: string): void {
    const rows = this.#rows;
    let hole = this.#find(sha256);
    const place = rows[hole + digestWords]!;
    if (place === 0) return;
    this.#values[place] = undefined;
    this.#free.push(place);
    this.#size -= 1;
    // Whatever was pushed on by this row moves back, or a search would end at the hole before it.
    let at = hole;
    for (;;) {
      at = this.#next(at);
      if (rows[at + digestWords] === 0) break;
      const home = this.#home(rows[at]!);
      const isReached = hole <= at ? hole < home && home <= at : hole < home || home <= at;
      if (isReached) continue;
      rows.copyWithin(hole, at, at + wordsPerRow);
      hole = at;
    }
    rows.fill(0, hole, hole + wordsPerRow);
  }

  /** The row of a digest, or the free one where it would stand. Leaves the digest in `#asked`. */
  #find(sha256: string): number {
    const asked = this.#asked;
    for (let i = 0; i < digestWords; i++) asked[i] = wordOf(sha256, 8 * i);
    const rows = this.#rows;
    let at = this.#home(asked[0]!);
    while (rows[at + digestWords] !== 0 && !isEqual(rows, at, asked)) at = this.#next(at);
    return at;
  }

  #home(firstWord: number): number {
    return (firstWord & this.#mask) * wordsPerRow;
  }

  #next(at: number): number {
    return at === this.#mask * wordsPerRow ? 0 : at + wordsPerRow;
  }

  #grow(): void {
    const old = this.#rows;
    this.#mask = 2 * this.#mask + 1;
    this.#rows = new Int32Array(2 * old.length);
    for (let from = 0; from < old.length; from += wordsPerRow) {
      if (old[from + digestWords] === 0) continue;
      let at = this.#home(old[from]!);
      while (this.#rows[at + digestWords] !== 0) at = this.#next(at);
      this.#rows.set(old.subarray(from, from + wordsPerRow), at);
    }
  }
}

const digestWords = 7;
/** The digest and the place of the value from 1; 0: the row is free. 32 bytes. */
const wordsPerRow = digestWords + 1;
const leastRows = 16;

function isEqual(rows: Int32Array, at: number, asked: Int32Array): boolean {
  for (let i = 0; i < digestWords; i++) if (rows[at + i] !== asked[i]) return false;
  return true;
}

/** Values of the codes of '0' to '9' and 'a' to 'f'. */
const digits = new Int8Array(128);
for (let value = 0; value < 16; value++) digits[value.toString(16).charCodeAt(0)] = value;

/** Eight hex digits from `at` on. */
function wordOf(text: string, at: number): number {
  let word = 0;
  for (let i = at; i < at + 8; i++) word = (word << 4) | digits[text.charCodeAt(i)]!;
  return word;
}

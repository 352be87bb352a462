/** Work with places where others may have their turn: after each `yield`. When the parts are done does not change the result. */
export type InParts<T> = Generator<undefined, T>;

/** Does all parts without a pause. */
export function atOnce<T>(work: InParts<T>): T {
  for (;;) {
    const part = work.next();
    if (part.done === true) return part.value;
  }
}

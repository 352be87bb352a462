/**
 * What a call answers that may have to wait: the value itself, or a promise of it. Calls that wait for nothing pass it on without a
 * promise, because each promise costs a request as much as a step of its decision.
 */
export type Later<T> = T | PromiseLike<T>;

/** `next` of the value, now or later. Throws, or rejects with, what `next` throws. */
export function after<T, U>(value: Later<T>, next: (value: T) => Later<U>): Later<U> {
  return isLater(value) ? value.then(next) : next(value);
}

/** What `ask` answers, or what `onError` makes of what it throws or rejects with. */
export function recover<T, U>(ask: () => Later<T>, onError: (error: unknown) => Later<U>): Later<T | U> {
  try {
    const value = ask();
    return isLater(value) ? value.then(undefined, onError) : value;
  } catch (error) {
    return onError(error);
  }
}

export function isLater<T>(value: Later<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function';
}

/** What follows an end, and what ends with it. */
type Follower<T> = {
  readonly onValue: ((value: T) => unknown) | null | undefined;
  readonly onError: ((error: unknown) => unknown) | null | undefined;
  readonly next: Pending<unknown>;
};

/**
 * A promise whose followers are called when it ends, before `resolve` or `reject` returns, and not in a microtask of their own: what
 * waits for a turn of the store goes on in that turn. So `resolve` must be the last thing that is done with shared state: a follower may use
 * that state at once. Only the first end counts.
 */
export class Pending<T> implements PromiseLike<T> {
  #state: 'waits' | 'value' | 'error' = 'waits';
  /** The value, or the error. */
  #ended: unknown;
  #follower: Follower<T> | undefined;
  #others: Follower<T>[] | undefined;

  resolve(value: T): void {
    this.#end('value', value);
  }

  reject(error: unknown): void {
    this.#end('error', error);
  }

  /** Ends as what `ask` answers or throws. */
  endAs(ask: () => Later<T>): void {
    this.#endAs(ask, undefined);
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is awaited where somebody does wait
  then<U = T, V = never>(
    onValue?: ((value: T) => Later<U>) | null,
    onError?: ((error: unknown) => Later<V>) | null,
  ): Pending<U | V> {
    const next = new Pending<U | V>();
    const follower = { onValue, onError, next: next as Pending<unknown> };
    if (this.#state !== 'waits') this.#call(follower);
    else if (this.#follower === undefined) this.#follower = follower;
    else (this.#others ??= []).push(follower);
    return next;
  }

  #end(state: 'value' | 'error', ended: unknown): void {
    if (this.#state !== 'waits') return;
    this.#state = state;
    this.#ended = ended;
    if (this.#follower !== undefined) this.#call(this.#follower);
    if (this.#others !== undefined) for (const follower of this.#others) this.#call(follower);
  }

  /** Without a function the end is passed on as it is, as by any promise. */
  #call({ onValue, onError, next }: Follower<T>): void {
    const follow = this.#state === 'value' ? onValue : onError;
    if (follow) next.#endAs(follow as (ended: unknown) => unknown, this.#ended);
    else next.#end(this.#state === 'value' ? 'value' : 'error', this.#ended);
  }

  #endAs<A>(ask: (given: A) => Later<T>, given: A): void {
    try {
      const value = ask(given);
      if (!isLater(value)) return this.#end('value', value);
      value.then(
        (ended) => this.#end('value', ended),
        (error: unknown) => this.#end('error', error),
      );
    } catch (error) {
      this.#end('error', error);
    }
  }
}

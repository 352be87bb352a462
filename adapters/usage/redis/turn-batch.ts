/** At most this many requests are sent together: Redis then works on them while the turn goes on. */
const mostTogether = 16;

/**
 * Sends the requests of one turn of the event loop together. One call decides many, so the fixed cost of a call (the
 * write, its way through the server, the sequence of writes) is paid once.
 */
export class TurnBatch<Request, Answer> {
  readonly #send: (requests: readonly Request[]) => Promise<readonly Answer[]>;
  #requests: Request[] = [];
  #answers = Promise.withResolvers<readonly Answer[]>();

  /** `send` answers in the order of the requests; when it throws, all of them fail. */
  constructor(send: (requests: readonly Request[]) => Promise<readonly Answer[]>) {
    this.#send = send;
  }

  async add(request: Request): Promise<Answer> {
    const place = this.#requests.push(request) - 1;
    const { promise } = this.#answers;
    if (place === 0) setImmediate(this.#flush, this.#requests);
    if (place === mostTogether - 1) this.#flush(this.#requests);
    const answers = await promise;
    return answers[place]!;
  }

  readonly #flush = (requests: readonly Request[]): void => {
    // The batch was full and has been sent already.
    if (requests !== this.#requests) return;
    const { resolve, reject } = this.#answers;
    this.#requests = [];
    this.#answers = Promise.withResolvers();
    this.#send(requests).then(resolve, reject);
  };
}

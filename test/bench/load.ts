import { connect, type Socket } from 'node:net';
import { refusalReason, type RequestShape } from './fixture.js';
import { createRequestBuilder } from './requests.js';

/**
 * The load process: a closed loop of raw keep-alive connections, in a separate process so that it takes no CPU time
 * from the measured servers. Driven over IPC by `load-process.ts`.
 */
export type LoadOrder = {
  /** Ports that connections go to in turn: the replicas of one service. */
  readonly ports: readonly number[];
  readonly shape: RequestShape;
  readonly concurrency: number;
  readonly seconds: number;
  /** Ids `firstId` … `firstId + count - 1` are used at most; the window ends early when they are used up. */
  readonly firstId: number;
  readonly count: number;
  /** Requests are sent at this rate, as far as connections are free; the time for which one waited for its turn counts. Default: as fast as answers come. */
  readonly perSecond?: number;
};

export type LoadResult = {
  readonly requests: number;
  /** Answers that are not HTTP 200 with what was asked for: signed data, quotes, or a refusal. */
  readonly errors: number;
  readonly firstError: string | undefined;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly answerBytes: number;
};

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));

async function run(order: LoadOrder): Promise<LoadResult> {
  const build = createRequestBuilder(order.shape);
  const requests = Array.from({ length: order.count }, (_, index) => build(order.firstId + index));
  const window = new Window(requests, order);
  const sockets = await Promise.all(
    Array.from({ length: order.concurrency }, (_, index) =>
      open(order.ports[index % order.ports.length] ?? 0),
    ),
  );
  const result = await window.run(sockets);
  for (const socket of sockets) socket.destroy();
  return result;
}

class Window {
  readonly #requests: readonly Buffer[];
  readonly #seconds: number;
  readonly #betweenMs: number;
  readonly #wantsRefusal: boolean;
  readonly #latencies: Float64Array;
  #sent = 0;
  #answered = 0;
  #errors = 0;
  #firstError: string | undefined;
  #answerBytes = 0;
  #startedAt = 0;

  constructor(requests: readonly Buffer[], { seconds, perSecond, shape }: LoadOrder) {
    this.#requests = requests;
    this.#wantsRefusal = shape.ask === 'another contract';
    this.#seconds = seconds;
    this.#betweenMs = perSecond === undefined ? 0 : 1000 / perSecond;
    this.#latencies = new Float64Array(requests.length);
  }

  async run(sockets: readonly Socket[]): Promise<LoadResult> {
    this.#startedAt = performance.now();
    await Promise.all(sockets.map((socket) => this.#loop(socket)));
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const latencies = this.#latencies.subarray(0, this.#answered).toSorted();
    return {
      requests: this.#answered,
      errors: this.#errors,
      firstError: this.#firstError,
      seconds,
      p50Ms: latencies[Math.floor(latencies.length * 0.5)] ?? 0,
      p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
      answerBytes: this.#answerBytes,
    };
  }

  /** One connection: writes the next request when the answer of the last one is complete. */
  #loop(socket: Socket): Promise<void> {
    return new Promise((resolve, reject) => {
      let sentAt = 0;
      let answer: Buffer = Buffer.alloc(0);
      const next = () => {
        const request = this.#requests[this.#sent];
        if (request === undefined || performance.now() - this.#startedAt > this.#seconds * 1000) {
          resolve();
          return;
        }
        const dueAt = this.#startedAt + this.#sent * this.#betweenMs;
        this.#sent += 1;
        const send = () => {
          sentAt = this.#betweenMs === 0 ? performance.now() : dueAt;
          socket.write(request);
        };
        const early = dueAt - performance.now();
        if (this.#betweenMs > 0 && early > 0) setTimeout(send, early);
        else send();
      };
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('the server closed a connection')));
      socket.on('data', (chunk) => {
        answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk]);
        const size = sizeOf(answer);
        if (size === undefined || answer.length < size) return;
        this.#latencies[this.#answered] = performance.now() - sentAt;
        this.#answered += 1;
        this.#judge(answer);
        answer = Buffer.alloc(0);
        next();
      });
      next();
    });
  }

  #judge(answer: Buffer): void {
    this.#answerBytes = answer.length;
    // `"0x"` is a refusal, so a digit must follow.
    const at = answer.indexOf('"paymasterAndData":"0x');
    const isSigned = at !== -1 && answer[at + 22] !== 0x22;
    const isQuoted = at === -1 && answer.includes('"feeQuotes":[{');
    const isRefused = at !== -1 && !isSigned && answer.includes(`"${refusalReason}"`);
    const isWanted = this.#wantsRefusal ? isRefused : isSigned || isQuoted;
    if (isWanted && answer.subarray(0, 12).toString('latin1') === 'HTTP/1.1 200') return;
    this.#errors += 1;
    this.#firstError ??= answer.toString('utf8').slice(0, 600);
  }
}

/** Bytes of the whole answer; undefined until its head is complete. All servers of the bench send a content length. */
function sizeOf(answer: Buffer): number | undefined {
  const end = answer.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = answer.subarray(0, end).toString('latin1');
  const length = /content-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`an answer without content-length: ${head}`);
  return end + 4 + Number(length);
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

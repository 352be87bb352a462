import { Agent, request } from 'node:http';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Requests that are sent again and again, each connection one after the other. */
export type Flood = {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
};

/** Answers of each status; 0: the connection was closed without one. */
type Statuses = Readonly<Record<number, number>>;

/** Begins a flood in a thread of its own, so that the times of this one are those of its own calls. */
export function startFlood(flood: Flood): {
  /** Resolves with the first answer of the flood. */
  readonly isAnswered: Promise<void>;
  /** Requests that were answered with 200 so far. */
  answers(): number;
  stop(): Promise<Statuses>;
} {
  const worker = new Worker(new URL(import.meta.url), { workerData: flood });
  const first = Promise.withResolvers<void>();
  const last = Promise.withResolvers<Statuses>();
  let answers = 0;
  worker.on('message', (said: number | Statuses) => {
    if (typeof said === 'object') return last.resolve(said);
    if (said === 200) answers += 1;
    first.resolve();
  });
  worker.on('error', (error) => {
    first.reject(error);
    last.reject(error);
  });
  return {
    isAnswered: first.promise,
    answers: () => answers,
    async stop() {
      worker.postMessage('stop');
      const statuses = await last.promise;
      await worker.terminate();
      return statuses;
    },
  };
}

if (!isMainThread && parentPort !== null && isFlood(workerData)) void run(workerData, parentPort);

function isFlood(data: unknown): data is Flood {
  return typeof data === 'object' && data !== null && 'connections' in data;
}

async function run({ url, body, headers, connections }: Flood, port: NonNullable<typeof parentPort>) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const bytes = Buffer.from(body);
  const statuses: Record<number, number> = {};
  let isOver = false;
  port.once('message', () => (isOver = true));
  const ask = (): Promise<number> =>
    new Promise((resolve) => {
      const sent = request(
        url,
        {
          method: 'POST',
          agent,
          headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
        },
        (response) => {
          response.resume();
          response.once('close', () => resolve(response.statusCode ?? 0));
        },
      );
      sent.once('error', () => resolve(0));
      sent.end(bytes);
    });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (!isOver) {
        const status = await ask();
        statuses[status] = (statuses[status] ?? 0) + 1;
        port.postMessage(status);
        // What is refused for its size costs this machine more to send than the server to refuse.
        if (status === 429) await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    }),
  );
  agent.destroy();
  port.postMessage(statuses);
}

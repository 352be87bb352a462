import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The figures that a measured server reports over IPC on request. */
export type SubjectReport = {
  /** User and system time of the process so far, in µs. */
  readonly cpuMicros: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** Of a server that records; 0 unless garbage was collected first. */
  readonly ledgerBytes: number;
  /** Other counts of the server: calls to the chain, store commits. */
  readonly counts: Readonly<Record<string, number>>;
};

type Counts = Readonly<Record<string, number>>;

/** Serves on a free port until the parent process ends. */
export async function serveSubject(listener: RequestListener): Promise<void> {
  const server = createServer(listener);
  const port = await listen(server);
  reportSubject(port, {
    stop: async () => {
      server.close();
      server.closeAllConnections();
    },
  });
}

/** Tells the parent the port, then answers its questions; `{"collect": true}` in one collects garbage first. */
export function reportSubject(
  port: number,
  options: {
    readonly stop: () => Promise<void>;
    readonly counts?: () => Counts;
    readonly ledgerBytes?: () => number;
  },
): void {
  const report = (question: { collect?: boolean }): SubjectReport => {
    if (question.collect === true) globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    const { heapUsed: heapBytes, rss: residentBytes } = process.memoryUsage();
    const ledgerBytes = question.collect === true ? (options.ledgerBytes?.() ?? 0) : 0;
    const counts = options.counts?.() ?? {};
    return { cpuMicros: user + system, heapBytes, residentBytes, ledgerBytes, counts };
  };
  process.on('message', (question: { collect?: boolean }) => {
    process.send?.(report(question));
  });
  process.on('disconnect', () => {
    void options.stop().finally(() => process.exit(0));
  });
  process.send?.({ port });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

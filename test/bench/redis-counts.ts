import { Redis } from 'ioredis';
import type { Target } from './subject-process.js';

/** Redis's own counts and times. */
export type RedisFigures = {
  /** Scripts run: of requests and of the background. */
  readonly evalsha: number;
  /** User and system time of redis-server, in µs. */
  readonly redisMicros: number;
  /** Time inside of scripts, in µs. */
  readonly scriptMicros: number;
};

/** One command as a client has sent it, apart from those that a script runs. */
export type SentCommand = { readonly words: readonly string[] };

/** Reads statistics of a Redis of the bench, over a separate connection. */
export class RedisCounts {
  readonly #client: Redis;

  constructor(url: string) {
    this.#client = new Redis(url);
  }

  async read(): Promise<RedisFigures> {
    const stats = await this.#client.info('commandstats');
    const cpu = await this.#client.info('cpu');
    const evalsha = /^cmdstat_evalsha:calls=(\d+),usec=(\d+)/m.exec(stats);
    const seconds = (name: string) => Number(new RegExp(`^${name}:([0-9.]+)`, 'm').exec(cpu)?.[1] ?? 0);
    return {
      evalsha: Number(evalsha?.[1] ?? 0),
      scriptMicros: Number(evalsha?.[2] ?? 0),
      redisMicros: 1e6 * (seconds('used_cpu_user') + seconds('used_cpu_sys')),
    };
  }

  /** Every command that clients sent during `work`. This slows Redis down: do not use it in a timed window. */
  async record(work: () => Promise<void>): Promise<readonly SentCommand[]> {
    const monitor = await this.#client.monitor();
    const sent: SentCommand[] = [];
    // A script's own commands come from "lua".
    monitor.on('monitor', (_time: string, words: string[], source: string) => {
      if (source !== 'lua') sent.push({ words });
    });
    await work();
    // Commands are shown in order: once this one is shown, all earlier ones were.
    const end = `end-of-record-${performance.now()}`;
    const shown = new Promise<void>((resolve) => {
      monitor.on('monitor', (_time: string, words: string[]) => {
        if (words.includes(end)) resolve();
      });
    });
    await this.#client.echo(end);
    await shown;
    monitor.disconnect();
    return sent.filter(({ words }) => !words.includes(end));
  }

  stop(): void {
    this.#client.disconnect();
  }
}

/** The same target, with the counts of Redis added to its own. */
export function counted(target: Target, redis: RedisCounts): Target {
  return {
    name: `${target.name} on Redis`,
    ports: target.ports,
    report: async () => {
      const report = await target.report();
      return { ...report, counts: { ...report.counts, ...(await redis.read()) } };
    },
  };
}

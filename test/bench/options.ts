import { parseArgs } from 'node:util';

export type BenchOptions = {
  /** Interleaved rounds; figures are medians over them. */
  readonly repeats: number;
  /** Length of a window at concurrency 32; at 1 it is half. */
  readonly seconds: number;
  readonly parts: ReadonlySet<Part>;
  /** Numbers of paymasters that the part `kube` measures at, ascending. */
  readonly sizes: readonly number[];
  /** A built checkout of another commit, which the part `before` compares with. */
  readonly before: string | undefined;
};

const parts = [
  'servers',
  'tokens',
  'signers',
  'scale',
  'postgres',
  'store',
  'rules',
  'ledger',
  'ledger-query',
  'what-if',
  'consoles',
  'propagation',
  'kube',
  'failover',
  'before',
] as const;
/** Run when they are named: each lost leader takes a lease's time, several minutes in all; `before` needs another build. */
const partsByDefault = parts.filter((part) => !['failover', 'before'].includes(part));
export type Part = (typeof parts)[number];

/** `--repeats 5 --seconds 1.5 --only servers,scale --sizes 100,1000`. Throws RangeError on anything else. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      repeats: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '1.5' },
      only: { type: 'string', default: partsByDefault.join(',') },
      sizes: { type: 'string', default: '100,1000,10000' },
      before: { type: 'string' },
    },
  });
  const chosen = values.only.split(',').map((name) => {
    const part = parts.find((known) => known === name);
    if (part === undefined) throw new RangeError(`--only must list ${parts.join(', ')}, got "${name}"`);
    return part;
  });
  return {
    repeats: positive('--repeats', values.repeats),
    seconds: positive('--seconds', values.seconds),
    parts: new Set(chosen),
    sizes: values.sizes
      .split(',')
      .map((size) => positive('--sizes', size))
      .toSorted((a, b) => a - b),
    before: values.before,
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`${name} must be a number above 0, got "${text}"`);
  return value;
}

import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { isDomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { aRequest, chainId } from '../../conformance/usage-requests.js';
import { crashRequest } from './crash-requests.js';

/** Reserves on command. Its parent bounds the size of its files: SQLite sees the refused write as a full disk. */
export type Told = { readonly numbers: readonly number[] };
/** Of each number `reserved`, or the code and reason of the error. */
export type Said = { readonly answers: readonly string[]; readonly live: number | undefined };

const [path = ''] = process.argv.slice(2);
const store = createSqliteUsageStore({ path, clock: systemClock, log: silentLogger, durability: 'power' });

process.on('message', ({ numbers }: Told) => {
  void answer(numbers).then((said) => process.send?.(said));
});
process.on('disconnect', () => void store.stop().finally(() => process.exit(0)));
process.send?.({ answers: [], live: 0 } satisfies Said);

async function answer(numbers: readonly number[]): Promise<Said> {
  const answers = await Promise.all(numbers.map((n) => reserved(n).catch(textOf)));
  const live = await store.liveCount(chainId).catch(() => undefined);
  return { answers, live };
}

async function reserved(n: number): Promise<string> {
  const request = crashRequest(n);
  const { contract } = request.promise;
  const account = { contract, balance: gwei(2 ** 50), reserved: gwei(0), readAt: systemClock.now() };
  await store.addBalance(chainId, account);
  return (await store.reserve(aRequest(request))).outcome;
}

function textOf(error: unknown): string {
  return isDomainError(error, 'UNAVAILABLE')
    ? `${error.code} ${String(error.details.reason)}`
    : String(error);
}

import { expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import type { AccountId } from '../../../core/usage/reservation.js';
import type { ReserveResult } from '../../../core/usage/reserve-request.js';
import { withNewAccounts } from '../../../server/decision/steps/new-accounts.js';
import { aNeed, aRequest, startMs } from '../../conformance/usage-requests.js';

const unknownDeposit = new DomainError('UNAVAILABLE', 'never read', { reason: 'DEPOSIT_UNKNOWN' });

const someRequest = aRequest({ accounts: [aNeed(5)] });

/** A store that knows accounts once they were read from a chain that has the given ones. */
function aStore(onChain: (account: AccountId) => boolean, failure: DomainError = unknownDeposit) {
  const known = new Set<string>();
  const nameOf = ({ contract, fundingAddress }: AccountId): string => `${contract} ${fundingAddress ?? ''}`;
  const reserve = (request: { readonly accounts: readonly AccountId[] }): Promise<ReserveResult> =>
    request.accounts.every((account) => known.has(nameOf(account)))
      ? Promise.resolve({ outcome: 'reserved' })
      : Promise.reject(failure);
  return withNewAccounts(
    {
      reserve,
      peek: async (request) => ({ result: await reserve(request), limits: [], holds: [], accounts: [] }),
      counters: () => Promise.resolve([]),
      now: () => startMs,
      capacity: () => Infinity,
    },
    {
      ensureAccount: (_chainId, account) => {
        if (onChain(account)) known.add(nameOf(account));
        return Promise.resolve();
      },
    },
    { organisationOf: () => 'acme' },
  );
}

test('the first operation of a new wallet reads its deposit instead of failing', async () => {
  expect(await aStore(() => true).reserve(someRequest)).toEqual({ outcome: 'reserved' });
  expect((await aStore(() => true).peek(someRequest)).result).toEqual({ outcome: 'reserved' });
});

test('a deposit that cannot be read stays unknown: the answer is the same error, not a guess', async () => {
  await expect(aStore(() => false).reserve(someRequest)).rejects.toBe(unknownDeposit);
});

test('any other outage is passed on', async () => {
  const down = new DomainError('UNAVAILABLE', 'down', { reason: 'USAGE_STORE_DOWN' });
  await expect(aStore(() => true, down).reserve(someRequest)).rejects.toBe(down);
});

import type { LogFilter } from '../../../core/chain/chain.js';
import { depositedTopic, withdrawnTopic } from '../../../core/entry-point/deposit-event.js';
import { userOperationEventTopic } from '../../../core/entry-point/user-operation-event.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import { asEntries } from '../../../core/ledger/ledger.js';
import { createPrices } from '../../../core/ledger/prices.js';
import { createStatement, type AccountStatement } from '../../../core/ledger/statement.js';
import { endOf } from '../../../core/ledger/steps.js';
import type { AccountId } from '../../../core/usage/reservation.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { addressTopic, type AddressKey } from '../../../core/units/address.js';
import { hexWord, type Hex } from '../../../core/units/hex.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import {
  anAddress,
  chainId,
  contract,
  entryPoint,
  funding,
  startMs,
} from '../../conformance/usage-requests.js';
import { aStepDecision } from '../../conformance/step-records.js';
import { depositOf, walletOf } from '../../fakes/chain.js';
import { createMemoryLedger } from '../../fakes/memory-ledger.js';
import { aFollowed, anOperation, aPromise, chargeTopic } from './followed.js';

// What tests of movements share: a follower whose steps are recorded, the statement of a month, and what happens to balances.

const gasDeposited: Hex = '0x1dbbf474736d6415d6a265fabee708fe6e988f6fd0c9d870ded36cab380898dd';
const gasWithdrawn: Hex = '0x926a144b6fffc1d73f115b81af7ec66a7c12aed0ff73197c39a683753fc1d925';
export const deposit: AccountId = { contract };
export const wallet: AccountId = { contract, fundingAddress: funding };
export const february = endOf(startMs, 'month');
export const afterMonth = february / 1_000 + 60;
export const stranger = anAddress(0xbad);

/** A followed chain, see {@link aFollowed}, and a ledger of what its steps record. */
export async function aRecorded(config?: ChainConfig) {
  const it = await aFollowed(config);
  const ledger = createMemoryLedger();
  let nonce = 0n;
  return {
    ...it,

    /** Follows with the ledger, which gets what steps record when they are taken. */
    recording(patienceMs?: number) {
      const usage: UsageStore = {
        ...it.usage,
        advance: async (step) => {
          const result = await it.usage.advance(step);
          if (result.isTaken) await ledger.append(asEntries(step.records ?? []));
          return result;
        },
      };
      const recorded = {
        ids: createRecordIds(it.clock),
        organisationOf: (id: string) => (id === 'pm-1' ? 'acme' : ''),
        wallets: () => [wallet],
      };
      return it.create(usage, recorded, patienceMs);
    },

    async statement(account: AccountId, from = startMs): Promise<AccountStatement> {
      const { contract: of, fundingAddress } = account;
      const to = endOf(from, 'month');
      const accounts = [{ chainId, contract: of, fundingAddress }];
      const [facts] = await ledger.statement({ accounts, from, to });
      const isOwn = ({ organisation }: { readonly organisation: string }) => organisation === 'acme';
      return createStatement(facts!, { to, now: to, prices: createPrices([]), isOwn });
    },

    /** Promises an operation, for `cost` gwei at most, and answers it as mined. */
    async promised(cost: number, mined: number, charge?: bigint) {
      nonce += 1n;
      const request = aPromise(cost, { key: { nonce }, record: aStepDecision(nonce) });
      const { outcome } = await it.usage.reserve(request);
      if (outcome !== 'reserved') throw new Error(`the promise was not reserved: ${outcome}`);
      const payer = { wallet: funding, topic0: chargeTopic, ...(charge === undefined ? {} : { charge }) };
      return anOperation(mined, { nonce, payer });
    },
  };
}

export type Recorded = Awaited<ReturnType<typeof aRecorded>>;

/** Wei of each line. */
export function lines({
  deposits,
  withdrawals,
  burnt,
  paymasters,
  otherPaymasters,
  others,
  unreadDeposits,
}: AccountStatement) {
  const sum = (kind: 'mined' | 'losses') => paymasters.reduce((all, one) => all + one[kind].wei, 0n);
  return {
    deposits: deposits.wei,
    withdrawals: withdrawals.wei,
    burnt: burnt.wei,
    mined: sum('mined'),
    losses: sum('losses'),
    minedByOthers: otherPaymasters.mined.wei,
    others,
    unreadDeposits,
  };
}

export const nothing = {
  deposits: 0n,
  withdrawals: 0n,
  burnt: 0n,
  mined: 0n,
  losses: 0n,
  minedByOthers: 0n,
  others: 0n,
  unreadDeposits: 0,
};

/** What `depositTo` of the EntryPoint does and says. The total in the event is the EntryPoint's, so the test gives a wrong one. */
export function paidIn(wei: bigint, to = contract, at: AddressKey = entryPoint) {
  return {
    transfers: [[depositOf(at, to), wei]] as const,
    emitted: [{ address: at, topics: [depositedTopic, addressTopic(to)], data: hexOf(12_345n) }],
  };
}

export function takenOut(wei: bigint) {
  return {
    transfers: [[depositOf(entryPoint, contract), -wei]] as const,
    emitted: [
      {
        address: entryPoint,
        topics: [withdrawnTopic, addressTopic(contract)],
        data: `${hexOf(BigInt(stranger))}${hexWord(wei)}` as Hex,
      },
    ],
  };
}

export function ofWallet(kind: 'in' | 'out', wei: bigint, of = funding) {
  return {
    transfers: [[walletOf(contract, of), kind === 'in' ? wei : -wei]] as const,
    emitted: [
      kind === 'in'
        ? { address: contract, topics: [gasDeposited, addressTopic(of), hexOf(wei)], data: '0x' as Hex }
        : {
            address: contract,
            topics: [gasWithdrawn, addressTopic(of), addressTopic(stranger), hexOf(wei)],
            data: '0x' as Hex,
          },
    ],
  };
}

function hexOf(value: bigint): Hex {
  return `0x${hexWord(value)}`;
}

/** What a node refuses that answers everything but the queries for events of balances. */
export function refusesBalances(
  asked: { readonly logs: LogFilter } | { readonly transaction: Hex },
): boolean {
  return 'logs' in asked && ![asked.logs.topics?.[0]].flat().includes(userOperationEventTopic);
}

import { expect } from '@jest/globals';
import { decodeUserOperationEvent } from '../../../core/entry-point/user-operation-event.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { until } from '../../support/until.js';
import { readDecisions, readUsage, type Access, type DecisionRow } from './ledger-answers.js';
import type { Customer, LedgerTraffic } from './ledger-traffic.js';

type MinedOperation = {
  readonly transactionHash: string;
  readonly success: boolean;
  readonly actualGasCost: bigint;
};

/** The ledger as the API tells it, against what clients were given and what the chain says. */
export type LedgerComparison = {
  /** Every decision about an operation that was signed. */
  rows(): Promise<readonly DecisionRow[]>;
  /** Ends every promise, and waits until the ledger knows all of them and how they ended. `mineBlocks` confirms what is mined. */
  drain(mineBlocks: () => Promise<void>): Promise<void>;
  /** Expects both to be equal; answers sums of each customer, and how many operations the contract paid for in all. */
  expectEqual(): Promise<{ readonly customers: readonly object[]; readonly mined: number }>;
};

export function compareLedger({
  access,
  devChain,
  version,
  customers,
  traffic,
}: {
  readonly access: Access;
  readonly devChain: DevChain;
  readonly version: string;
  readonly customers: readonly Customer[];
  readonly traffic: LedgerTraffic;
}): LedgerComparison {
  async function rows(): Promise<readonly DecisionRow[]> {
    return (await Promise.all(customers.map((each) => readDecisions(access, each.paymasterId)))).flat();
  }

  /** What the chain says about operations that the contract paid for, by userOpHash. */
  async function minedOperations(): Promise<ReadonlyMap<string, MinedOperation>> {
    const { sponsorship, entryPoint } = devChain.profile(version);
    const head = await devChain.chain.block('latest');
    const logs = await devChain.chain.logs({ address: entryPoint, fromBlock: 0, toBlock: head!.number });
    return new Map(
      logs.flatMap((log) => {
        const event = decodeUserOperationEvent(log);
        if (event === undefined || event.paymaster !== sponsorship.toLowerCase()) return [];
        const { userOpHash, success, actualGasCost } = event;
        return [[userOpHash, { transactionHash: log.transactionHash, success, actualGasCost }] as const];
      }),
    );
  }

  async function expectCustomer(customer: Customer, chain: ReadonlyMap<string, MinedOperation>) {
    const found = await readDecisions(access, customer.paymasterId);
    const answered = traffic.answered.filter((each) => each.customer === customer);
    const ofRequest = Map.groupBy(found, ({ callerRequestId }) => callerRequestId);
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
    // Requests that lost their answer may have one too; nothing else does.
    expect([...ofRequest.values()].filter(({ length }) => length !== 1)).toEqual([]);
    expect([...ofRequest.keys()].filter((id) => !traffic.requestIds.has(id))).toEqual([]);
    expect(answered.filter(({ requestId }) => !ofRequest.has(requestId))).toEqual([]);

    const own = [...new Set(answered.map(({ userOpHash }) => userOpHash))].filter((hash) => chain.has(hash));
    const settled = found.filter(({ settlement }) => settlement?.outcome === 'mined');
    expect(settled.map(settlementOf).toSorted(byHash)).toEqual(
      own.map((userOpHash) => ({ userOpHash, ...chain.get(userOpHash)! })).toSorted(byHash),
    );

    const spentWei = own.reduce((sum, hash) => sum + chain.get(hash)!.actualGasCost, 0n);
    const reverted = own.filter((hash) => !chain.get(hash)!.success).length;
    // A reservation counts once, however often it was asked for. After it has ended its nonce can have another one.
    const promised = new Set(
      found.map(({ sender, nonce, settlement }) => `${sender} ${nonce} ${settlement?.at}`),
    ).size;
    expect(await readUsage(access, customer.paymasterId)).toEqual({
      sponsored: promised,
      mined: own.length,
      reverted,
      expired: promised - own.length,
      spentWei,
    });
    return {
      answered: answered.length,
      decisions: found.length,
      minedHere: own.length,
      reverted,
      spentElsewhere: found.filter(({ settlement }) => settlement?.outcome === 'spent-elsewhere').length,
      spentWei: String(spentWei),
    };
  }

  return {
    rows,
    async drain(mineBlocks) {
      await devChain.chain.request('evm_increaseTime', [86_400]);
      let waiting = '';
      await until(
        () => `the ledger has everything: ${waiting}`,
        async () => {
          await mineBlocks();
          const all = await rows();
          const known = new Set(all.map(({ callerRequestId }) => callerRequestId));
          const missing = traffic.answered.filter(({ requestId }) => !known.has(requestId)).length;
          const open = all.filter(({ settlement }) => settlement === null).length;
          waiting = `${missing} signatures without a decision, ${open} decisions without an end`;
          return missing + open === 0;
        },
        200_000,
      );
    },
    async expectEqual() {
      const chain = await minedOperations();
      const compared = await Promise.all(customers.map((each) => expectCustomer(each, chain)));
      expect(compared.reduce((sum, { minedHere }) => sum + minedHere, 0)).toBe(chain.size);
      return { customers: compared, mined: chain.size };
    },
  };
}

function settlementOf({ userOpHash, settlement }: DecisionRow) {
  const { transactionHash, success, actualGasCostWei } = settlement!;
  return { userOpHash, transactionHash, success, actualGasCost: BigInt(actualGasCostWei) };
}

function byHash(
  a: { readonly userOpHash: string | null },
  b: { readonly userOpHash: string | null },
): number {
  return String(a.userOpHash) < String(b.userOpHash) ? -1 : 1;
}

import type { DecisionInputs } from '../../core/ledger/record.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Gwei } from '../../core/units/wei.js';

/** Records of the inputs of decisions, and of how reservations ended, for replays. */
export type InputsRecords = {
  /**
   * Never waits: without room it is counted and not kept, and a replay says that it is missing. `order`: the place that
   * the usage store gave it; undefined: the store was not asked, so it comes after all that this process has recorded.
   */
  add(
    of: Pick<DecisionInputs, 'id' | 'at' | 'organisation' | 'paymasterId' | 'chainId'>,
    order: number | undefined,
    body: string,
  ): void;
};

/** How a reservation ended. */
export type Ending = {
  /**
   * `settled`: each limit keeps min(actualCost, reserved), a limit of operations all of it. `released`: all of it is free.
   * `forfeited`: limits keep what was reserved. `restored`: a reorganisation has taken an ending back.
   */
  readonly how: 'settled' | 'released' | 'forfeited' | 'restored';
  readonly entryPoint: AddressKey;
  readonly sender: AddressKey;
  readonly nonce: bigint;
  /** Of `settled`; absent: a token payment, for which limits pay nothing. */
  readonly actualCost?: Gwei | undefined;
};

export function createInputsRecords(deps: {
  readonly offers: { add(record: DecisionInputs): boolean };
  /** Called for every record that is not kept. */
  readonly dropped: () => void;
}): InputsRecords {
  const { offers, dropped } = deps;
  const newest = new Map<number, number>();
  return {
    add({ id, at, organisation, paymasterId, chainId }, order, body) {
      const seen = newest.get(chainId) ?? 0;
      const sequence = order ?? seen;
      if (sequence > seen) newest.set(chainId, sequence);
      const of = { id, at, organisation, paymasterId, chainId };
      if (!offers.add({ kind: 'inputs', ...of, sequence, body })) dropped();
    },
  };
}

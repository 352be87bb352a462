import type { CoveredBlocks, Movement } from '../../core/ledger/movement.js';
import type { Movements } from '../../core/ledger/record.js';
import type {
  AccountMovements,
  BalanceAt,
  MovementSum,
  StatementQuery,
  Transfer,
} from '../../core/ledger/statement.js';
import type { EpochMs } from '../../core/units/time.js';

const hourMs = 3_600_000;

/** Movements in memory: every row, and every block that was read, one by one. */
export function createMemoryMovements() {
  let rows: (Movement & { readonly chainId: number })[] = [];
  let blocks: { readonly chainId: number; readonly contract: string; readonly number: number }[] = [];

  return {
    append({ chainId, after, movements, covered }: Movements): void {
      const isKept = (one: { readonly chainId: number }, block: number): boolean =>
        after === undefined || one.chainId !== chainId || block <= after;
      rows = rows.filter((row) => isKept(row, row.blockNumber));
      blocks = blocks.filter((block) => isKept(block, block.number));
      for (const movement of movements)
        if (!rows.some((row) => nameOf(row) === nameOf({ ...movement, chainId })))
          rows.push({ ...movement, chainId });
      for (const { contract, fromBlock, toBlock } of covered)
        for (let number = fromBlock; number <= toBlock; number++) blocks.push({ chainId, contract, number });
    },

    statement({
      accounts,
      paidFor,
      limit = Infinity,
      from,
      to,
    }: StatementQuery): readonly AccountMovements[] {
      const paid = rows
        .filter(
          ({ organisation, paymasterId, at }) =>
            organisation === paidFor?.organisation &&
            (paidFor.paymasterId ?? paymasterId) === paymasterId &&
            at >= from &&
            at < to,
        )
        .map(({ chainId, contract, fundingAddress }) => ({ chainId, contract, fundingAddress }));
      const named = new Map(
        [...accounts, ...paid].map((account) => [Object.values(account).join(' '), account]),
      );
      return [...named.values()].slice(0, limit + 1).map((account) => {
        const own = rows
          .filter(
            (row) =>
              row.chainId === account.chainId &&
              row.contract === account.contract &&
              row.fundingAddress === account.fundingAddress,
          )
          .sort((a, b) => a.blockNumber - b.blockNumber);
        const balanceOf = (row: Movement | undefined): BalanceAt | undefined =>
          row && { blockNumber: row.blockNumber, at: row.at, balanceWei: row.amountWei ?? 0n };
        const edge = (at: EpochMs) => balanceOf(own.find((row) => row.kind === 'edge' && row.at === at));
        const opening = edge(from);
        const seen = balanceOf(own.find(({ kind, at }) => kind === 'seen' && at >= from && at < to));
        const begin = (opening ?? seen)?.blockNumber ?? -1;
        const moved = own.filter(
          ({ kind, at, blockNumber }) =>
            kind !== 'edge' && kind !== 'seen' && at >= from && at < to && blockNumber > begin,
        );
        return {
          account,
          opening,
          first: opening === undefined ? seen : undefined,
          closing: edge(to),
          sums: sumsOf(moved),
          transfers: moved.flatMap((row): Transfer[] => {
            const { kind, at, blockNumber, transactionHash, amountWei, count } = row;
            if (kind !== 'deposit' && kind !== 'withdrawal') return [];
            return [{ kind, at, blockNumber, transactionHash, amountWei, count }];
          }),
          covered: rangesOf(
            blocks
              .filter(({ chainId, contract }) => chainId === account.chainId && contract === account.contract)
              .map(({ number }) => number),
          ),
        };
      });
    },
  };
}

function sumsOf(moved: readonly Movement[]): readonly MovementSum[] {
  const sums = new Map<string, MovementSum>();
  for (const { kind, organisation, paymasterId, at, amountWei, count } of moved) {
    const hour = (at - (at % hourMs)) as EpochMs;
    const name = [String(hour), kind, organisation, paymasterId].join(' ');
    const sum = sums.get(name);
    sums.set(name, {
      kind: kind as MovementSum['kind'],
      organisation,
      paymasterId,
      hour,
      wei: (sum?.wei ?? 0n) + (amountWei ?? 0n),
      count: (sum?.count ?? 0) + count,
      unread: (sum?.unread ?? 0) + (amountWei === undefined ? 1 : 0),
    });
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

function rangesOf(numbers: readonly number[]): readonly Omit<CoveredBlocks, 'contract'>[] {
  const ranges: { fromBlock: number; toBlock: number }[] = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last.toBlock + 1 === number) last.toBlock = number;
    else ranges.push({ fromBlock: number, toBlock: number });
  }
  return ranges;
}

function nameOf(row: Movement & { readonly chainId: number }): string {
  const { chainId, contract, fundingAddress, kind, blockNumber, logIndex, paymasterId } = row;
  return [chainId, contract, fundingAddress, kind, blockNumber, logIndex, paymasterId].join(' ');
}

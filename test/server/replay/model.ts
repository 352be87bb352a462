import { parseInputs } from '../../../server/decision/inputs-text.js';
import { someNow } from '../../build/configs.js';
import type { Recorded, Round } from './recorded-world.js';

/** Rounds as the model below knows them: in one phase, and nothing is restored. */
export function plainRounds(rounds: readonly Round[]): readonly Round[] {
  return rounds.map((round) => ({
    ...round,
    asked: round.asked.map((asked) => ({ ...asked, phases: false })),
    endings: round.endings.filter(({ how }) => how !== 'restored'),
  }));
}

/** Operations of a limit that counts those of a paymaster in windows, by another way than the product's. */
export function modelOf(
  { records }: Pick<Recorded, 'records'>,
  paymasterId: string,
  threshold: number,
  durationMs: number,
): readonly string[] {
  const live = new Map<string, Set<number>>();
  const used = new Map<number, number>();
  const refused: string[] = [];
  for (const { id, paymasterId: of, body } of records) {
    const inputs = parseInputs(body);
    if (inputs === undefined || inputs.kind === 'left-out' || of !== paymasterId) continue;
    const { sender, nonce } = inputs.kind === 'ending' ? inputs : inputs.request.op;
    const key = `${sender} ${nonce}`;
    const windows = live.get(key) ?? new Set();
    if (inputs.kind === 'ending') {
      const isFree =
        inputs.how === 'released' || (inputs.how === 'settled' && inputs.actualCost === undefined);
      // A token payment spends nothing of a limit.
      if (isFree) for (const window of windows) used.set(window, used.get(window)! - 1);
      live.delete(key);
      continue;
    }
    if (!inputs.verdict.pass || inputs.mode === 'ERC20' || inputs.usage === undefined) continue;
    const window = Math.floor((inputs.usage.plannedAt - someNow) / durationMs);
    if (windows.has(window)) continue;
    const count = used.get(window) ?? 0;
    if (count >= threshold) refused.push(id);
    else {
      used.set(window, count + 1);
      live.set(key, windows.add(window));
    }
  }
  return refused;
}

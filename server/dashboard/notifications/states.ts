import type { Told } from '../../../core/notifications/compare.js';
import { isObject, parseJson } from '../../../core/schema/json-value.js';
import { plusMs, type EpochMs } from '../../../core/units/time.js';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';

/** Of one receiver. `failing`: since when it gets nothing, and why. */
export type State = {
  readonly told: Told;
  readonly failing?: {
    readonly since: EpochMs;
    readonly detail: string;
    readonly tries: number;
    readonly at: EpochMs;
  };
};
/** By the name of the notification. */
export type States = Readonly<Record<string, State>>;

type Texts = Pick<KeptTexts, 'putText' | 'addText' | 'getText'>;
const keptMs = 30 * 86_400_000;
const lead = 'notifications are sent by';

/** What the receivers of organisations were told, and who tells them, in the texts that all replicas read. No paymasterId has a space. */
export function createStates(texts: Texts) {
  const nameOf = (tenant: string): string => `told ${tenant}`;
  return {
    async read(tenant: string): Promise<States> {
      const stored = parseJson((await texts.getText(nameOf(tenant))) ?? '{}');
      return isObject(stored) ? (stored as States) : {};
    },
    write: (tenant: string, states: States, now: EpochMs): Promise<void> =>
      texts.putText(nameOf(tenant), JSON.stringify(states), plusMs(now, keptMs)),
    /** Whether this process is the one that sends, for the next `forMs`. */
    async lead(process: string, now: EpochMs, forMs: number): Promise<boolean> {
      const until = plusMs(now, forMs);
      if (await texts.addText(lead, process, until, { prefix: lead, most: 1 })) return true;
      if ((await texts.getText(lead)) !== process) return false;
      await texts.putText(lead, process, until);
      return true;
    },
  };
}

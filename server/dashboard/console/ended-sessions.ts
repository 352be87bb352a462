import { hashCredential } from '../../../core/config/api-key.js';
import { unlessUnavailable } from '../../../core/errors.js';
import { plusMs, type EpochMs } from '../../../core/units/time.js';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';
import type { Session } from './sessions.js';

/** The clock of the database may be ahead of the one that ends sessions. */
const hourMs = 3_600_000;

/**
 * Sessions that were signed out, so that no replica of the dashboard takes a copy of their cookie.
 */
export type EndedSessions = ReturnType<typeof createEndedSessions>;

export function createEndedSessions(texts: Pick<KeptTexts, 'putText' | 'getText'>) {
  return {
    /** Throws UNAVAILABLE: then the session goes on. */
    end: ({ csrf, until }: Session): Promise<void> =>
      texts.putText(nameOf(csrf), 'signed out', plusMs(until as EpochMs, hourMs)),

    /**
     * Whether a session was signed out. While the database is away nobody knows: readings then go on, since the person on call needs them,
     * and anything else throws UNAVAILABLE.
     */
    async has({ csrf }: Session, isReading: boolean): Promise<boolean> {
      const asked = texts.getText(nameOf(csrf));
      return (await (isReading ? unlessUnavailable(asked) : asked)) !== undefined;
    },
  };
}

/** No paymasterId has a space. */
function nameOf(csrf: string): string {
  return `session ${hashCredential(csrf)}`;
}

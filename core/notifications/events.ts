import type { CheckId } from '../problems/checks.js';
import type { EventName } from '../resources/notification.js';

type EventRow = {
  /** One line for people. */
  readonly what: string;
  /** Which problems are this event; others are read elsewhere (server/dashboard/notifications). */
  readonly checks?: readonly CheckId[];
};

export const events = {
  'deposit.low': {
    what: 'A deposit that pays for gas covers few operations, or none',
    checks: ['deposit-empty', 'deposit-promised', 'deposit-low'],
  },
  'limit.nearly': { what: 'A limit that all users share is used to at least 80 %' },
  'limit.reached': {
    what: 'A limit that all users share is full and refuses operations',
    checks: ['limit-full', 'usage-lost'],
  },
  'refusals.rising': { what: 'Far more requests are refused than before' },
  'paymaster.notServing': {
    what: 'A paymaster signs nothing',
    checks: ['database-away', 'database-lost'],
  },
  'key.expiring': { what: 'A key or token ends within 7 days, or has ended' },
  'webhook.failing': {
    what: 'The host of a webhook does not answer, so its policy refuses',
    checks: ['webhook-failing'],
  },
  'price.jumped': {
    what: 'A price has fallen so far at once that what counts by it is refused',
    checks: ['price-jump'],
  },
} as const satisfies Record<EventName, EventRow>;

const byName: Readonly<Record<EventName, EventRow>> = events;
const eventByCheck = new Map(
  (Object.keys(events) as readonly EventName[]).flatMap((name) =>
    (byName[name].checks ?? []).map((check) => [check, name] as const),
  ),
);

/** The event that a problem of this check is. */
export function eventOfCheck(check: CheckId): EventName | undefined {
  return eventByCheck.get(check);
}

import { words } from '../format.js';
import { Badge, Coins, Hex, Table, Time } from '../parts/parts.js';
import type { Decision } from '../records.js';
import { callName } from '../refusal/sentences.js';
import { pageHref, route } from '../route.js';

/** `isFollowed`: without how they ended, which comes later than they are read. */
export function DecisionTable({
  decisions,
  nameOfPaymaster,
  isFollowed = false,
}: {
  readonly decisions: readonly Decision[];
  readonly nameOfPaymaster: (id: string) => string;
  readonly isFollowed?: boolean;
}) {
  return (
    <Table
      caption="Decisions"
      id={({ id }) => id}
      rows={decisions}
      columns={[
        {
          name: 'When',
          isNewestFirst: true,
          of: ({ id, at }) => (
            <a href={pageHref('activity', {}, id)}>
              <Time>{at}</Time>
            </a>
          ),
        },
        {
          name: 'Verdict',
          of: ({ verdict, reason }) => (
            <>
              <Badge>{verdict}</Badge>{' '}
              {reason !== null && (
                <a href={pageHref('activity', { ...route.value.query, verdict: 'refused', reason })}>
                  {words(reason)}
                </a>
              )}
            </>
          ),
        },
        {
          name: 'Calls',
          of: ({ calls }) =>
            calls.length > 0 &&
            calls.map((call, index) => (
              <>
                {index > 0 && ', '}
                <a href={pageHref('activity', { ...route.value.query, selector: call.selector })}>
                  {callName(call)}
                </a>
              </>
            )),
        },
        {
          name: 'Account',
          of: ({ sender }) => (
            <a href={pageHref('activity', { ...route.value.query, search: sender })}>
              <Hex>{sender}</Hex>
            </a>
          ),
        },
        { name: 'Paymaster', of: ({ paymasterId }) => nameOfPaymaster(paymasterId) },
        {
          name: 'At most',
          isNumber: true,
          of: ({ maxCost }) => (maxCost === null ? '' : <Coins>{maxCost}</Coins>),
        },
        !isFollowed && {
          name: 'Ended',
          of: ({ settlement, verdict }) =>
            settlement === null ? (
              verdict === 'sponsored' && <span class="quiet">not yet</span>
            ) : (
              <Badge of={settlement.success === false ? 'failed' : settlement.outcome}>
                {settlement.success === false ? 'reverted' : settlement.outcome}
              </Badge>
            ),
        },
        !isFollowed && {
          name: 'Cost',
          isNumber: true,
          of: ({ settlement }) =>
            settlement?.outcome === 'mined' && <Coins>{settlement.actualGasCost}</Coins>,
        },
      ]}
    />
  );
}

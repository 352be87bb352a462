import { call, can } from '../api.js';
import { ifSure } from '../parts/confirmed.js';
import { type Change, OutcomeNote, useOutcome } from '../parts/form.js';
import { Badge, Card, Table } from '../parts/parts.js';
import { type Known, formatLabel } from '../paymasters.js';

/** For a token that may stop paymasters but not read them. */
export function Stoppable({
  all,
  onChanged,
}: {
  readonly all: readonly Known[];
  readonly onChanged: () => void;
}) {
  const { outcome, run } = useOutcome(onChanged);
  return (
    <Card title="Paymasters of this organisation">
      <OutcomeNote outcome={outcome} />
      <Table
        caption="Paymasters"
        id={({ object }) => object}
        rows={all}
        columns={[
          { name: 'Paymaster', of: ({ name }) => name },
          { name: 'Chain', of: ({ chainId }) => chainId },
          { name: 'State', of: (one) => <State {...one} /> },
          { name: 'Change', of: (one) => <Suspension paymaster={one} run={run} /> },
        ]}
      />
    </Card>
  );
}

export function State({ isSuspended, down }: Known) {
  if (isSuspended) return <Badge of="paused">suspended</Badge>;
  // Only a token that may read learns whether the paymaster serves.
  if (!can('read')) return <Badge>not suspended</Badge>;
  return down === undefined ? <Badge of="pass">in service</Badge> : <Badge of="failed">out of service</Badge>;
}

/** Suspends a paymaster, which the scope `stop` is enough for, or resumes it, which needs `write`. */
export function Suspension({
  paymaster,
  run,
}: {
  readonly paymaster: Known;
  readonly run: (change: Change) => Promise<void>;
}) {
  const { object, name, isSuspended } = paymaster;
  const change = (verb: string) => call(`/manage/v1/paymasters/${object}/${verb}`, { method: 'POST' });
  const suspend = ifSure(
    {
      title: `Suspend ${formatLabel(paymaster)}?`,
      says: `It sponsors nothing until ${can() ? 'it is resumed' : 'somebody resumes it, which needs the scope write'}: every request of a wallet is refused. What is signed already stays valid.`,
      button: 'Suspend',
    },
    async () => {
      await change('suspend');
      return {
        kind: 'warn',
        text: `“${name}” is suspended: it sponsors nothing until it is resumed. What is signed already stays valid.`,
      };
    },
  );
  const resume = ifSure(
    {
      title: `Resume ${formatLabel(paymaster)}?`,
      says: 'It sponsors again, within its policies and limits.',
      button: 'Resume',
    },
    async () => {
      await change('resume');
      return `“${name}” sponsors again.`;
    },
  );
  if (!can(...(isSuspended ? [] : (['stop'] as const)))) return null;
  return (
    <button
      type="button"
      class={isSuspended ? '' : 'danger'}
      onClick={() => void run(isSuspended ? resume : suspend)}
      aria-label={`${isSuspended ? 'Resume' : 'Suspend'} ${formatLabel(paymaster)}`}
    >
      {isSuspended ? 'Resume' : 'Suspend'}
    </button>
  );
}

import type { Answers } from '../answers.js';
import { call, can } from '../api.js';
import { exact, memberName } from '../format.js';
import type { Policy } from '../records.js';
import { confirmed } from './confirmed.js';
import { OutcomeNote, useOutcome, type Change } from './form.js';
import { Badge, Table } from './parts.js';
import { kindOf } from './rules.js';

/** The policies of a paymaster, to pause and to try. */
export function Policies({
  policies,
  onChanged,
}: {
  readonly policies: readonly Policy[];
  readonly onChanged: () => void;
}) {
  const { outcome, run } = useOutcome(onChanged);
  const isActive = ({ spec }: Policy): boolean => spec.active !== false;
  const change =
    (policy: Policy): Change =>
    async () => {
      const { name } = policy.spec;
      const wasActive = isActive(policy);
      const isSure =
        !wasActive ||
        (await confirmed({
          title: `Pause “${name}”?`,
          says: 'It no longer decides: what it refuses now is paid for, until it is resumed.',
          button: 'Pause',
        }));
      if (!isSure) return undefined;
      const path = `/manage/v1/policies/${policy.name}/${wasActive ? 'suspend' : 'resume'}`;
      await call(path, { method: 'POST' });
      return wasActive
        ? { kind: 'warn', text: `“${name}” is paused: it no longer decides.` }
        : `“${name}” is active again.`;
    };
  const tryHost =
    ({ name, spec }: Policy): Change =>
    async () => {
      const path = `/manage/v1/policies/${name}/test`;
      const { verdict, wouldPass, durationMs, reason, detail } = await call<Answers['testPolicyWebhook']>(
        path,
        {
          method: 'POST',
        },
      );
      const why = [reason, detail].filter((each) => each !== undefined).join(', ');
      return {
        kind: verdict === 'verified' ? 'done' : 'error',
        text: `“${spec.name}” ${verdict} after ${durationMs} ms${why && `: ${why}`}. An operation would ${wouldPass ? 'pass' : 'be refused'}.`,
      };
    };
  return (
    <>
      <OutcomeNote outcome={outcome} />
      <Table
        caption="Policies"
        rows={policies}
        columns={[
          { name: 'Policy', of: ({ spec }) => spec.name },
          { name: 'Kind', of: ({ spec }) => kindOf(spec.policyType) },
          { name: 'Settings', of: ({ spec }) => settingsOf(spec) },
          { name: 'Made by', of: ({ createdBy }) => createdBy },
          {
            name: 'State',
            of: (policy) => (isActive(policy) ? <Badge of="pass">active</Badge> : <Badge>paused</Badge>),
          },
          can() && {
            name: 'Change',
            of: (policy) => (
              <button
                type="button"
                onClick={() => void run(change(policy))}
                aria-label={`${isActive(policy) ? 'Pause' : 'Resume'} ${policy.spec.name}`}
              >
                {isActive(policy) ? 'Pause' : 'Resume'}
              </button>
            ),
          },
          can() && {
            name: 'Try',
            of: (policy) =>
              policy.spec.policyType === 'WEBHOOK' && (
                <button
                  type="button"
                  onClick={() => void run(tryHost(policy))}
                  aria-label={`Send a test to ${policy.spec.name}`}
                >
                  Send a test
                </button>
              ),
          },
        ]}
      />
    </>
  );
}

/** As `threshold: 1, cycleDuration: 1 day`, of the member that has the settings of its kind; other columns say the rest. */
function settingsOf(spec: Policy['spec']): string {
  const others = ['paymasterRef', 'enforcement'];
  return Object.entries<unknown>(spec)
    .filter(([member, value]) => !others.includes(member) && typeof value === 'object' && value !== null)
    .flatMap(([, value]) => Object.entries(value as object))
    .map(([member, value]) => `${memberName(member)}: ${textOf(value)}`)
    .join(', ');
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(' ');
  return typeof value === 'object' && value !== null
    ? Object.values(value).map(textOf).join(' ')
    : exact(String(value));
}

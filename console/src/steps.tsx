import { useState } from 'preact/hooks';
import { useLive } from './api.js';
import { amounts, memberName, words } from './format.js';
import { Badge, Prose } from './parts/parts.js';
import { listAllPages } from './paymasters.js';
import type { Step } from './records.js';

/** The steps of a decision in their order: those that refused or counted, and on demand all of them. */
export function Steps({ steps }: { readonly steps: readonly Step[] }) {
  const telling = steps.filter(({ verdict }) => !['pass', 'undecided'].includes(verdict));
  const [isAll, setAll] = useState(false);
  if (telling.length === 0 || telling.length === steps.length) return <List steps={steps} />;
  return (
    <>
      <List steps={isAll ? steps : telling} />
      <p>
        <button type="button" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? 'Show what decided' : `Show all ${steps.length} steps`}
        </button>
      </p>
    </>
  );
}

function List({ steps }: { readonly steps: readonly Step[] }) {
  const { data: policies = [] } = useLive('policies', () => listAllPages('policies'), 60_000);
  const findPolicyName = (policyId: string) => policies.find(({ id }) => id === policyId)?.spec.name;
  return (
    <ol class="steps">
      {steps.map(({ step, verdict, policyId, reason, detail, remedy }, index) => (
        <li key={index}>
          <span>
            <Badge>{verdict}</Badge>
          </span>
          <div>
            {memberName(step)}
            {policyId !== undefined && (
              <span class="quiet" title={policyId}>
                {' '}
                {findPolicyName(policyId) ?? <code>{policyId}</code>}
              </span>
            )}
            {reason !== undefined && (
              <>
                : <b>{words(reason)}</b>
              </>
            )}
            {detail !== undefined && <p>{amounts(detail)}</p>}
            {remedy !== undefined && (
              <p>
                Fix: <Prose>{remedy}</Prose>
              </p>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

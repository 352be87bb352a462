import { stepName, words } from './format.js';
import { Badge } from './parts/parts.js';
import type { Step } from './records.js';

/** What was asked in which order, with every answer. */
export function Steps({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <ol class="steps">
      {steps.map(({ step, verdict, policyId, reason, detail, remedy }, index) => (
        <li key={index}>
          <span>
            <Badge>{verdict}</Badge>
          </span>
          <div>
            {stepName(step)}
            {policyId !== undefined && <code class="quiet"> {policyId}</code>}
            {reason !== undefined && <b>: {words(reason)}</b>}
            {detail !== undefined && <p>{detail}</p>}
            {remedy !== undefined && <p>What to do: {remedy}</p>}
          </div>
        </li>
      ))}
    </ol>
  );
}

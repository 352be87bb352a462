import { call, useAsked } from '../api.js';
import { leaveTo } from '../flash.js';
import { ifSure } from '../parts/confirmed.js';
import { type Change, OutcomeNote, useOutcome } from '../parts/form.js';
import { Facts, Note } from '../parts/parts.js';
import type { Known } from '../paymasters.js';
import { pageHref } from '../route.js';

type Names = { readonly count: number; readonly names: readonly string[] };
type Deletion = {
  readonly ends: {
    readonly contracts: Names;
    readonly policies: Names;
    readonly livePromises: number | null;
  };
  readonly stays: readonly { readonly name: string; readonly manager: string }[];
};

/** Deletes a paymaster with what belongs to it, once people have read what ends and what stays. */
export function DeletePaymaster({
  paymaster: { object, name },
  onDone,
}: {
  readonly paymaster: Known;
  readonly onDone: () => void;
}) {
  const { ask, data: plan, error } = useAsked<Deletion>();
  const { outcome, run } = useOutcome(onDone);
  const path = `/manage/v1/paymasters/${object}?cascade=true`;
  const look = () => call<Deletion>(`${path}&dryRun=true`, { method: 'DELETE' });
  const remove = ({ ends }: Deletion): Change =>
    ifSure(
      {
        title: `Delete “${object}”?`,
        says: `With it end ${describeEnds(ends)}, for good.`,
        button: 'Delete',
      },
      async () => {
        await call(path, { method: 'DELETE' });
        leaveTo(pageHref('paymaster'), `“${name}” is deleted.`);
        return undefined;
      },
    );
  return (
    <details class="end" onToggle={(event) => event.currentTarget.open && void ask(look)}>
      <summary>Delete this paymaster</summary>
      {error !== undefined && <Note kind="error">{error.message}</Note>}
      {plan !== undefined && (
        <>
          <Facts>
            {[
              ['Ends with it', describeEnds(plan.ends)],
              [
                'Stays, until it is removed from its manifests',
                plan.stays.map(({ name, manager }) => `${name} (${manager})`).join(', ') || 'nothing',
              ],
              ['Signed operations that can still be mined', plan.ends.livePromises ?? 'not known'],
            ]}
          </Facts>
          <p>
            <button type="button" class="danger" onClick={() => void run(remove(plan))}>
              Delete “{object}” and what ends with it
            </button>
          </p>
        </>
      )}
      <OutcomeNote outcome={outcome} />
    </details>
  );
}

function describeEnds({ contracts, policies }: Deletion['ends']): string {
  const lists = Object.entries({ contracts, policies }).filter(([, { count }]) => count > 0);
  const parts = lists.map(
    ([what, { count, names }]) =>
      `${what} ${names.join(', ')}${count > names.length ? ` and ${count - names.length} others` : ''}`,
  );
  return ['the apiKey', ...parts].join('; ');
}

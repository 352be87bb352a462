import { Form } from '../parts/form.js';
import { Badge, Note } from '../parts/parts.js';
import { Table } from '../parts/table.js';
import { hrefOf } from '../route.js';
import { created, draft, emptyDraft } from './draft.js';
import { makeAll } from './make.js';
import { plannedOf, warningsOf, type Planned } from './plan.js';
import { stepHref, steps } from './steps.js';

/** What will be created, and then how far that came. */
export function Summary({ onDone }: { readonly onDone: () => void }) {
  const { values, made, failure } = draft.value;
  const planned = plannedOf(values);
  const there = planned.filter(({ step }) => made.includes(step));
  const stateOf = ({ step }: Planned) => {
    if (made.includes(step)) return <Badge of="pass">exists</Badge>;
    if (failure?.step === step) return <Badge of="failed">not created</Badge>;
    return <Badge>to be created</Badge>;
  };
  return (
    <>
      <p class="quiet">Nothing exists before you press the button. This will be created, in this order:</p>
      <Table
        caption="To be created"
        id={({ kind, name }) => `${kind} ${name}`}
        rows={planned}
        columns={[
          { name: 'Resource', of: ({ kind, name }) => `${kind} “${name}”` },
          { name: 'Says', of: ({ says }) => says },
          { name: 'State', of: stateOf },
        ]}
      />
      {warningsOf(values).map((text) => (
        <Note key={text} kind="warn">
          {text}
        </Note>
      ))}
      <Form
        button={failure === undefined ? 'Create' : 'Try again'}
        failed={failure?.error}
        onDone={onDone}
        send={async () => {
          await makeAll(planned);
          emptyDraft();
          const { object } = planned[0]!;
          created.value = object;
          // Back leads to what was before, not to what is done.
          location.replace(hrefOf('paymaster', { create: 'done', of: object }));
          return undefined;
        }}
      >
        {failure !== undefined && (
          <div class="wide">
            <Note kind="warn">
              {there.length === 0
                ? 'Nothing was created.'
                : `Only a part was created: ${there.map(({ kind, name }) => `${kind.toLowerCase()} “${name}”`).join(', ')}. It pays for nothing yet, and is not created again.`}{' '}
              <a href={stepHref(failure.step)}>Change the step “{steps[failure.step].title}”</a>, or try
              again.
            </Note>
          </div>
        )}
      </Form>
    </>
  );
}

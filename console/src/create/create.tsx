import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Form } from '../parts/form.js';
import { Badge, Note, Shown, Table } from '../parts/parts.js';
import { type Known, useChains } from '../paymasters.js';
import { pageHref, route } from '../route.js';
import {
  check,
  created,
  draft,
  emptyDraft,
  enter,
  makeAll,
  nextOpen,
  type Planned,
  planObjects,
  type StepName,
  stepNames,
  listWarnings,
} from './draft.js';
import { Made } from './made.js';
import { ChainFields, stepHref, steps } from './steps.js';

const all = [...stepNames, 'summary'] as const;

/** Creates a paymaster by steps. Each has an address, so that Back and Forward lead from one to the other. */
export function CreatePaymaster({
  paymasters,
  onDone,
}: {
  readonly paymasters: readonly Known[];
  readonly onDone: () => void;
}) {
  const { create: asked, of } = route.value.query;
  if (asked === 'done' && of !== undefined)
    return <Made key={of} paymaster={paymasters.find(({ object }) => object === of)} object={of} />;
  const { values, done } = draft.value;
  const furthest = all.indexOf(nextOpen());
  const shown = all.slice(0, furthest + 1).find((step) => step === asked) ?? all[furthest]!;
  return (
    <>
      <p class="quiet">
        <a href={pageHref('paymaster')}>Paymasters</a>
      </p>
      <div class="top">
        <h1>Create a paymaster</h1>
        {Object.keys(values).length > 0 && (
          <button
            type="button"
            class="danger"
            onClick={() => {
              emptyDraft();
              location.hash = stepHref(stepNames[0]);
            }}
          >
            Begin anew
          </button>
        )}
      </div>
      <nav class="tabs" aria-label="Steps">
        {all.map((step, index) => {
          const label = `${index + 1}. ${stepTitle(step)}`;
          if (index > furthest)
            return (
              <span key={step} class="quiet">
                {label}
              </span>
            );
          return (
            <a key={step} href={stepHref(step)} {...(step === shown && { 'aria-current': 'step' as const })}>
              {label}
              {done.some((each) => each === step) && <span class="quiet"> ✓</span>}
            </a>
          );
        })}
      </nav>
      <section key={shown} class="card" aria-label={stepTitle(shown)}>
        <Heading>{`Step ${all.indexOf(shown) + 1} of ${all.length}: ${stepTitle(shown)}`}</Heading>
        <StepContent step={shown} like={paymasters[0]} onDone={onDone} />
      </section>
    </>
  );
}

function stepTitle(step: (typeof all)[number]): string {
  return step === 'summary' ? 'Summary' : steps[step].title;
}

/** Takes the focus as it is drawn, so that screen readers say which step this is. A moment later somebody may be elsewhere already. */
function Heading({ children }: { readonly children: string }) {
  const place = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => place.current?.focus(), []);
  return (
    <h2 ref={place} tabIndex={-1}>
      {children}
    </h2>
  );
}

function StepContent({
  step,
  like,
  onDone,
}: {
  readonly step: (typeof all)[number];
  readonly like: Known | undefined;
  readonly onDone: () => void;
}) {
  if (step === 'summary') return <Summary onDone={onDone} />;
  if (step === 'chain') return <ChainStep like={like} />;
  const Fields = steps[step].fields;
  return (
    <StepForm step={step}>
      <Fields />
    </StepForm>
  );
}

/** Shows no form until the chains are loaded: a form sent earlier would name no chain. */
function ChainStep({ like }: { readonly like: Known | undefined }) {
  return (
    <Shown live={useChains()} empty="Your organisation may use no chain.">
      {(chains) => (
        <StepForm step="chain">
          <ChainFields all={chains} like={like} />
        </StepForm>
      )}
    </Shown>
  );
}

function StepForm({ step, children }: { readonly step: StepName; readonly children: ComponentChildren }) {
  const { says } = steps[step];
  const { values, made, failure } = draft.value;
  if (made.includes(step))
    return (
      <Note kind="done">
        This exists already. Change it on the page of its paymaster, once everything is created.
      </Note>
    );
  const before = stepNames[stepNames.indexOf(step) - 1];
  return (
    <>
      <p class="quiet">{says}</p>
      <Form
        button="Continue"
        entered={values[step] ?? {}}
        failed={failure?.step === step ? failure.error : undefined}
        beside={
          before !== undefined && (
            <a class="button" href={stepHref(before)}>
              Back
            </a>
          )
        }
        onType={(entered) => enter(step, entered, false)}
        send={async (entered) => {
          const planned = planObjects({ ...draft.peek().values, [step]: entered });
          const own = planned.find((each) => each.step === step);
          if (own !== undefined) await check(own);
          enter(step, entered, true);
          location.hash = stepHref(nextOpen());
          return undefined;
        }}
      >
        {children}
      </Form>
    </>
  );
}

/** What will be created, and then how far that came. */
function Summary({ onDone }: { readonly onDone: () => void }) {
  const { values, made, failure } = draft.value;
  const planned = planObjects(values);
  const there = planned.filter(({ step }) => made.includes(step));
  const renderState = ({ step }: Planned) => {
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
          { name: 'State', of: renderState },
        ]}
      />
      {listWarnings(values).map((text) => (
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
          // Back leads to the page before, not to the finished form.
          location.replace(pageHref('paymaster', { create: 'done', of: object }));
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

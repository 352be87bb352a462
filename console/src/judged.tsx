import { signal } from '@preact/signals';
import type { Answers } from './answers.js';
import { count, words } from './format.js';
import { Facts, Hex, Note, Table, Time } from './parts/parts.js';
import { pageHref } from './route.js';

type Answer = Answers['whatIf'];
type Found = Answer['unknown'];

/** What a change would have done to recorded decisions. */
export function Result({ answer }: { readonly answer: Answer }) {
  const { judged, stillSigned, stillRefused, wouldBeRefused, wouldPass, unknown } = answer;
  return (
    <>
      <Caveats answer={answer} />
      <Facts>
        {[
          ['Judged', count(judged)],
          ['As before', `${count(stillSigned)} signed, ${count(stillRefused)} refused`],
          ['Would be refused', <b>{count(wouldBeRefused.count)}</b>],
          ['Would pass', <b>{count(wouldPass.count)}</b>],
          ['Unknown', count(unknown.count)],
        ]}
      </Facts>
      <Those title="Would be refused" found={wouldBeRefused} />
      <Those title="Would pass" found={wouldPass} />
      <Those title="Unknown: a cost, price or call was not recorded" found={unknown} />
    </>
  );
}

/** What the figures leave out. */
export function Caveats({ answer: { judged, gaps, notJudged } }: { readonly answer: Answer }) {
  const missing = gaps.reduce((sum, gap) => sum + gap.count, 0);
  const named = notJudged.flatMap(({ rule, name }) => (name === null ? [] : [`${words(rule)} “${name}”`]));
  return (
    <>
      {judged === 0 && <Note kind="warn">No recorded decision lies in this time. Choose a longer one.</Note>}
      {missing > 0 && <Note kind="warn">{count(missing)} more decisions were only counted.</Note>}
      {named.length > 0 && <Note kind="warn">Not judged: {named.join(', ')}.</Note>}
    </>
  );
}

function Those({ title, found }: { readonly title: string; readonly found: Found }) {
  if (found.count === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <Table
        caption={`${title}, by day`}
        id={({ day, reason }) => `${day} ${reason}`}
        rows={found.byReasonAndDay}
        columns={[
          { name: 'Day', of: ({ day }) => <Time>{day}</Time> },
          { name: 'Reason', of: ({ reason }) => words(reason) },
          { name: 'Decisions', of: (group) => count(group.count) },
        ]}
      />
      <Table
        caption={`${title}, the first of each reason`}
        id={({ decision }) => decision}
        rows={found.examples}
        columns={[
          {
            name: 'Reason',
            of: ({ decision, reason }) => <a href={pageHref('activity', {}, decision)}>{words(reason)}</a>,
          },
          { name: 'Account', of: ({ sender }) => <Hex>{sender}</Hex> },
          { name: 'Detail', of: ({ detail }) => detail },
        ]}
      />
    </>
  );
}

/** Resources that a page wants judged; the page What-if takes them. */
export const proposal = signal('');

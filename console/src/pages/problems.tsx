import { can } from '../api.js';
import { Notifications } from '../parts/notifications.js';
import { Card, Note, Shown } from '../parts/parts.js';
import { ProblemTable, useProblems, type Problem } from '../parts/problems.js';

/** The list that `paymaster doctor` prints, the gravest first. */
export function ProblemsPage() {
  const found = useProblems();
  return (
    <>
      <h1>Problems</h1>
      <Shown live={found}>
        {({ items: problems, complete, owners }) => {
          const [notes, findings] = [problems.filter(isNote), problems.filter((each) => !isNote(each))];
          return (
            <>
              {!complete && <Note kind="warn">There are more. The gravest are shown.</Note>}
              {findings.length === 0 ? (
                <p class="empty">
                  Nothing is wrong. Your paymasters, contracts and policies, and the chains that they use, are
                  as they should be.
                </p>
              ) : (
                <Card title="To be fixed">
                  <ProblemTable caption="To be fixed" problems={findings} owners={owners} />
                </Card>
              )}
              {notes.length > 0 && (
                <Card title="Notes: this may be meant so">
                  <ProblemTable caption="Notes: this may be meant so" problems={notes} owners={owners} />
                </Card>
              )}
            </>
          );
        }}
      </Shown>
      {can('read') && <Notifications />}
    </>
  );
}

function isNote({ severity }: Problem): boolean {
  return severity === 'note';
}

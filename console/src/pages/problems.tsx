import { Card, Note, Shown } from '../parts/parts.js';
import { ProblemTable, useProblems, type Problem } from '../parts/problems.js';

/** The list that `paymaster doctor` prints, the gravest first. */
export function WhatIsWrong() {
  const found = useProblems();
  return (
    <>
      <h1>What is wrong</h1>
      <Shown live={found}>
        {({ items: problems, complete }) => {
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
                <Card title="Somebody has to do something">
                  <ProblemTable caption="Somebody has to do something" problems={findings} />
                </Card>
              )}
              {notes.length > 0 && (
                <Card title="This may be meant so">
                  <ProblemTable caption="This may be meant so" problems={notes} />
                </Card>
              )}
            </>
          );
        }}
      </Shown>
    </>
  );
}

function isNote({ severity }: Problem): boolean {
  return severity === 'note';
}

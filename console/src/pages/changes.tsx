import type { Answers } from '../answers.js';
import { call, useLive } from '../api.js';
import { Badge, Card, Select, Shown, Table, Time } from '../parts/parts.js';
import { choose, route } from '../route.js';

type Change = Answers['listChanges']['items'][number];

const kinds = ['Paymaster', 'SmartContract', 'PaymasterPolicy', 'DashboardToken'];

/** Which token changed what. */
export function Changes() {
  const { kind = '', name = '' } = route.value.query;
  const asked = new URLSearchParams({ limit: '100', ...(kind && { kind }), ...(name && { name }) });
  const changes = useLive(`changes ${asked}`, () =>
    call<Answers['listChanges']>(`/manage/v1/changes?${asked}`),
  );
  return (
    <>
      <div class="top">
        <h1>Changes</h1>
        <Select
          label="Of"
          value={kind}
          choices={[['', 'all kinds'], ...kinds.map((each) => [each, each] as const)]}
          onChoose={(chosen) => choose({ kind: chosen, name: undefined })}
        />
        {name !== '' && (
          <button type="button" onClick={() => choose({ name: undefined })}>
            Only {name}: show all
          </button>
        )}
      </div>
      <Card title="What tokens changed in the last 30 days, the newest first">
        <Shown
          live={changes}
          empty="No token changed anything in the last 30 days. Changes by manifests are in Git, those by hand in the audit log of the cluster."
        >
          {({ items, nextCursor }) => (
            <>
              <Table
                caption="Changes"
                id={({ id }) => id}
                rows={items}
                columns={[
                  { name: 'When', isNewestFirst: true, of: ({ at }) => <Time>{at}</Time> },
                  {
                    name: 'What',
                    of: (change) => <Changed change={change} onChoose={(of) => choose({ name: of })} />,
                  },
                  { name: 'By', of: ({ actor }) => actor },
                  { name: 'Fields', of: ({ fields }) => <Fields fields={fields} /> },
                  { name: 'Request', of: ({ requestId }) => <code class="quiet">{requestId}</code> },
                ]}
              />
              {nextCursor !== null && (
                <p class="quiet">
                  The newest 100 are shown. Older ones: <code>GET /manage/v1/changes</code>.
                </p>
              )}
            </>
          )}
        </Shown>
      </Card>
    </>
  );
}

function Changed({
  change,
  onChoose,
}: {
  readonly change: Change;
  readonly onChoose: (name: string) => void;
}) {
  const { action, kind, name, leftOut } = change;
  return (
    <>
      <Badge of={action === 'deleted' ? 'paused' : ''}>{action}</Badge> {kind}{' '}
      <button type="button" class="link" onClick={() => onChoose(name)} title={`Only changes of ${name}`}>
        {name}
      </button>
      {leftOut > 0 && <p class="quiet">{leftOut} more of this day were too many to record.</p>}
    </>
  );
}

function Fields({ fields }: Pick<Change, 'fields'>) {
  return (
    <ul class="plain">
      {fields.map(({ field, before, after }) => (
        <li key={field}>
          <code>{field}</code>: {before !== null && `${before} → `}
          {after ?? 'nothing'}
        </li>
      ))}
    </ul>
  );
}

import type { Answers } from '../answers.js';
import { call, can } from '../api.js';
import { useLive } from '../live.js';
import { OutcomeNote, useOutcome } from './form.js';
import { Card, Shown, Time } from './parts.js';
import { Table } from './table.js';

/** The receivers of notifications, as the platform has set them; each can be tried. */
export function Notifications() {
  const told = useLive(
    'notifications',
    () => call<Answers['listNotifications']>('/manage/v1/notifications'),
    15_000,
  );
  const { outcome, run } = useOutcome(told.reload);
  const test = (name: string) => async () => {
    const path = `/manage/v1/notifications/${name}/test`;
    const { delivered, detail } = await call<Answers['testNotification']>(path, { method: 'POST' });
    return delivered
      ? { kind: 'done' as const, text: `“${name}” has got a test message.` }
      : { kind: 'error' as const, text: `“${name}” got nothing: ${detail}.` };
  };
  return (
    <Card title="Notifications">
      <OutcomeNote outcome={outcome} />
      <Shown
        live={told}
        isEmpty={({ items }) => items.length === 0}
        empty="Nobody gets notifications. The platform can list a receiver in spec.notifications of your Organisation."
      >
        {({ items }) => (
          <Table
            caption="Notifications"
            id={({ name }) => name}
            rows={items}
            columns={[
              { name: 'Receiver', of: ({ name }) => name },
              { name: 'Host', of: ({ host }) => host },
              { name: 'Format', of: ({ format }) => format },
              { name: 'Events', of: ({ events }) => events.join(', ') },
              {
                name: 'Failing since',
                of: ({ failingSince, failure }) =>
                  failingSince && (
                    <>
                      <Time>{failingSince}</Time> <span class="quiet">{failure}</span>
                    </>
                  ),
              },
              can() && {
                name: 'Check',
                of: ({ name }) => (
                  <button
                    type="button"
                    onClick={() => void run(test(name))}
                    aria-label={`Send a test to ${name}`}
                  >
                    Send a test
                  </button>
                ),
              },
            ]}
          />
        )}
      </Shown>
    </Card>
  );
}

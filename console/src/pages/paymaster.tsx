import { can } from '../api.js';
import { Note, Shown } from '../parts/parts.js';
import { CreatePaymaster } from '../create/create.js';
import { stepNames } from '../create/draft.js';
import { stepHref } from '../create/steps.js';
import { OnePaymaster } from '../paymaster/one.js';
import { PaymasterTable } from '../paymaster/overview.js';
import { Stoppable } from '../paymaster/suspension.js';
import { usePaymasters } from '../paymasters.js';
import { pageHref, route } from '../route.js';

/** All paymasters as a table, or the one that the address names. */
export function Paymaster() {
  const paymasters = usePaymasters();
  const { id, query } = route.value;
  const one = can('read') && id !== undefined;
  if (one)
    return (
      <Shown live={paymasters}>
        {(all) => {
          const found = all.find(({ object }) => object === id);
          return found === undefined ? (
            <Unknown id={id} />
          ) : (
            <OnePaymaster key={id} paymaster={found} onChanged={paymasters.reload} />
          );
        }}
      </Shown>
    );
  if (can() && query['create'] !== undefined)
    return (
      <Shown live={paymasters}>
        {(all) => <CreatePaymaster paymasters={all} onDone={paymasters.reload} />}
      </Shown>
    );
  return (
    <>
      <div class="top">
        <h1>Paymasters</h1>
        {can() && (
          <a class="button main" href={stepHref(stepNames[0])}>
            Create a paymaster
          </a>
        )}
      </div>
      <Shown
        live={paymasters}
        empty={
          can()
            ? 'You have no paymaster yet. Create one, or apply a manifest of kind Paymaster.'
            : 'The organisation has no paymaster yet.'
        }
      >
        {(all) =>
          can('read') ? (
            <PaymasterTable all={all} onChanged={paymasters.reload} />
          ) : (
            <Stoppable all={all} onChanged={paymasters.reload} />
          )
        }
      </Shown>
    </>
  );
}

function Unknown({ id }: { readonly id: string }) {
  return (
    <>
      <h1>Paymasters</h1>
      <Note kind="warn">
        There is no paymaster “{id}”. <a href={pageHref('paymaster')}>All paymasters</a>
      </Note>
    </>
  );
}

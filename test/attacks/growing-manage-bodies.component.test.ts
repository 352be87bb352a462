import { beforeAll, test } from '@jest/globals';
import { useDashboard } from '../support/use-dashboard.js';
import { dashboardWrites, manageWriteNames, quickWebhooks, type Write } from './support/every-write.js';
import { expectBoundedGrowth } from './support/growth-of-cost.js';

// Every write of `/manage/v1`, as in growing-bodies.

const dashboard = useDashboard({ webhooks: quickWebhooks });

let writes: ReadonlyMap<string, Write>;
beforeAll(async () => {
  writes = await dashboardWrites(dashboard);
});

test.each(manageWriteNames)('%s', (name) => expectBoundedGrowth(writes.get(name)!), 600_000);

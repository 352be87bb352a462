import { beforeAll, test } from '@jest/globals';
import { useDashboard } from '../support/use-dashboard.js';
import { useRpc } from '../support/use-rpc.js';
import {
  dashboardWrites,
  documentWriteNames,
  quickWebhooks,
  rpcWriteNames,
  rpcWrites,
  type Write,
} from './support/every-write.js';
import { expectBoundedGrowth } from './support/growth-of-cost.js';

// Every write of the dashboard API and of JSON-RPC. Those of `/manage/v1`: growing-manage-bodies.
// 4,000 labels once held the thread that signs for 16 seconds.

const dashboard = useDashboard({ webhooks: quickWebhooks });
const rpc = useRpc();

let writes: ReadonlyMap<string, Write>;
beforeAll(async () => {
  await rpc.put();
  writes = new Map([...(await dashboardWrites(dashboard)), ...rpcWrites(rpc)]);
});

test.each([...documentWriteNames, ...rpcWriteNames])(
  '%s',
  (name) => expectBoundedGrowth(writes.get(name)!),
  600_000,
);

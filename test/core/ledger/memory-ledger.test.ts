import { movementConformance } from '../../conformance/ledger-movements.js';
import { ledgerConformance } from '../../conformance/ledger.js';
import { createMemoryLedger } from '../../fakes/memory-ledger.js';

ledgerConformance('in memory', async () => createMemoryLedger());
movementConformance('in memory', async () => createMemoryLedger());

import * as protocolKit from '@safe-global/protocol-kit';
import * as relayKit from '@safe-global/relay-kit';
import { relayKitTests } from './relay-kit.mjs';

relayKitTests(protocolKit.default, relayKit);

// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

struct UserOperation {
    address sender; uint256 nonce; bytes initCode; bytes callData;
    uint256 callGasLimit; uint256 verificationGasLimit; uint256 preVerificationGas; uint256 maxFeePerGas; uint256 maxPriorityFeePerGas;
    bytes paymasterAndData; bytes signature;
}

interface IEntryPoint {
    function depositTo(address account) external payable;
    function withdrawTo(address payable to, uint256 amount) external;
    function addStake(uint32 unstakeDelaySec) external payable;
    function unlockStake() external;
    function withdrawStake(address payable to) external;
}

interface IToken {
    function balanceOf(address account) external view returns (uint256);
    function allowance(address account, address spender) external view returns (uint256);
    function transfer(address to, uint256 amount) external;
    function transferFrom(address from, address to, uint256 amount) external;
}

/// Paymaster for EntryPoint 0.6 with a deposit per sponsor. Not audited. Two kinds of paymasterAndData, told apart by length:
///  sponsored, 276 bytes: paymaster 20, abi.encode(address paymasterId, uint48 validUntil, uint48 validAfter, bytes signature)
///  token, 278 bytes: paymaster 20, priceSource 1, abi.encode(uint48 validUntil, uint48 validAfter, address token,
///    address oracle, uint256 rate, uint32 markup), signature 65. `rate` = token base units per 1e18 wei, markup 1e6 = none;
///    in token mode its highest bit demands payment in validation.
/// What an operation may cost at most is taken from one balance in validation and the rest given back in postOp, so that
/// the sum of all balances never exceeds the deposit in the EntryPoint. Every error carries at least 32 bytes: this
/// EntryPoint copies 32 bytes of revert data, and shorter data would revert a whole bundle.
contract HybridPaymaster06 {
    /// Gas that postOp cannot measure: the end of itself, and the EntryPoint's work around it.
    uint256 public constant unaccountedGas = 10_000;
    /// The same with two token transfers, when tokens are computed before they move.
    uint256 public constant unaccountedTokenGas = 60_000;
    /// The most that one call of a token gets, and what postOp keeps whatever tokens use: it always ends.
    uint256 private constant tokenCallGas = 60_000;
    uint256 private constant keptGas = 12_000;
    /// Of a signed markup in token mode: tokens are taken in validation, or the operation is refused there.
    uint32 private constant inAdvanceBit = 1 << 31;
    uint256 public constant minDeposit = 0;
    uint256 private constant halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    IEntryPoint public immutable entryPoint;
    address public immutable owner;
    /// Pays for operations in token mode out of its own balance here, and receives their tokens.
    address public immutable tokenAccount;
    address public verifyingSigner;
    mapping(address paymasterId => uint256) public getBalance;

    event GasDeposited(address indexed paymasterId, uint256 indexed value);
    event GasWithdrawn(address indexed paymasterId, address indexed to, uint256 indexed value);
    event GasBalanceDeducted(address indexed paymasterId, uint256 indexed charge);
    event VerifyingSignerChanged(address indexed oldSigner, address indexed newSigner, address indexed actor);
    event PaidGasInTokens(address indexed sender, address indexed token, uint256 gasCost, uint256 tokenCharge, uint32 markup, uint256 rate, bytes32 userOpHash);
    /// Of `due` tokens the account has left `owed` unpaid; GasBalanceDeducted says what that cost the token account.
    event TokensOwed(address indexed sender, address indexed token, uint256 owed, uint256 due, bytes32 userOpHash);

    error CallerNotAllowed(address caller);
    error InvalidValue(uint256 value);
    error InsufficientBalance(uint256 required, uint256 balance);
    error InsufficientTokens(uint256 required, uint256 balance);
    error VerificationGasLimitTooLow(uint256 required);
    error TokenPaymentFailed(address token);

    struct TokenTerms { address sender; address token; uint256 taken; uint256 rate; uint32 markup; bytes32 userOpHash; }

    modifier only(address allowed) { if (msg.sender != allowed) revert CallerNotAllowed(msg.sender); _; }

    constructor(address entryPoint_, address owner_, address signer_, address tokenAccount_) {
        (entryPoint, owner, tokenAccount, verifyingSigner) = (IEntryPoint(entryPoint_), owner_, tokenAccount_, signer_);
    }

    function setSigner(address signer) external only(owner) {
        if (signer == address(0)) revert InvalidValue(0);
        emit VerifyingSignerChanged(verifyingSigner, signer, msg.sender);
        verifyingSigner = signer;
    }

    function addStake(uint32 unstakeDelaySec) external payable only(owner) { entryPoint.addStake{value: msg.value}(unstakeDelaySec); }
    function unlockStake() external only(owner) { entryPoint.unlockStake(); }
    function withdrawStake(address payable to) external only(owner) { entryPoint.withdrawStake(to); }

    /// Anybody may pay in for a sponsor; only the sponsor itself can take out.
    function depositFor(address paymasterId) external payable {
        if (paymasterId == address(0) || msg.value == 0) revert InvalidValue(msg.value);
        getBalance[paymasterId] += msg.value;
        emit GasDeposited(paymasterId, msg.value);
        entryPoint.depositTo{value: msg.value}(address(this));
    }

    function withdrawTo(address payable to, uint256 amount) external {
        _take(msg.sender, amount);
        emit GasWithdrawn(msg.sender, to, amount);
        entryPoint.withdrawTo(to, amount);
    }

    function getHash(UserOperation calldata op, address paymasterId, uint48 validUntil, uint48 validAfter) public view returns (bytes32) {
        return keccak256(bytes.concat(_head(op), abi.encode(paymasterId, validUntil, validAfter)));
    }

    function getHash(UserOperation calldata op, uint8 priceSource, uint48 validUntil, uint48 validAfter, address token, address oracle, uint256 rate, uint32 markup) public view returns (bytes32) {
        return keccak256(bytes.concat(_head(op), abi.encode(priceSource, validUntil, validAfter, token, oracle, rate, markup)));
    }

    function validatePaymasterUserOp(UserOperation calldata op, bytes32 userOpHash, uint256 maxCost) external only(address(entryPoint)) returns (bytes memory context, uint256) {
        bytes calldata data = op.paymasterAndData;
        if (data.length == 276) {
            (address payer, uint48 until, uint48 from) = abi.decode(data[20:116], (address, uint48, uint48));
            context = _begin(op, payer, maxCost, unaccountedGas);
            return (context, _validation(getHash(op, payer, until, from), data[180:245], until, from));
        }
        if (data.length != 278) revert InvalidValue(data.length);
        return _validateToken(op, userOpHash, maxCost, data);
    }

    function postOp(uint8 mode, bytes calldata context, uint256 actualGasCost) external only(address(entryPoint)) {
        uint256 startGas = gasleft();
        (address payer, uint256 taken, uint256 maxFee, uint256 maxTip) = abi.decode(context, (address, uint256, uint256, uint256));
        uint256 price = maxFee < maxTip + block.basefee ? maxFee : maxTip + block.basefee;
        if (context.length > 128) _collect(mode, abi.decode(context[128:], (TokenTerms)), actualGasCost + unaccountedTokenGas * price);
        // What a token really used is measured: its account pays for that, never the sponsors.
        uint256 charge = actualGasCost + (startGas - gasleft() + unaccountedGas) * price;
        if (charge > taken) charge = taken; // The EntryPoint never takes more than what validation was told.
        getBalance[payer] += taken - charge;
        emit GasBalanceDeducted(payer, charge);
    }

    function _validateToken(UserOperation calldata op, bytes32 userOpHash, uint256 maxCost, bytes calldata data) private returns (bytes memory, uint256) {
        (uint48 until, uint48 from, address token, address oracle, uint256 rate, uint32 markup) = abi.decode(data[21:213], (uint48, uint48, address, address, uint256, uint32));
        bytes32 hash = getHash(op, 0, until, from, token, oracle, rate, markup);
        bool inAdvance = markup >= inAdvanceBit;
        if (inAdvance) markup -= inAdvanceBit;
        if (data[20] != 0 || rate == 0 || markup < 1e6 || markup > 2e6) revert InvalidValue(markup);
        bytes memory context = _begin(op, tokenAccount, maxCost, unaccountedTokenGas);
        // maxCost has verificationGasLimit three times: for the account, for this, and for postOp. All of it may be used.
        TokenTerms memory terms = TokenTerms(op.sender, token, _tokens(maxCost + unaccountedTokenGas * op.maxFeePerGas, rate, markup), rate, markup, userOpHash);
        uint256 balance = _ask(token, abi.encodeCall(IToken.balanceOf, (op.sender)));
        if (balance < terms.taken) revert InsufficientTokens(terms.taken, balance);
        // Taken now where it is allowed already, which cannot fail later; else after the call, which may be the approval, unless
        // the signer demands it now: the call may also move the tokens away.
        if (!inAdvance && _ask(token, abi.encodeCall(IToken.allowance, (op.sender, address(this)))) < terms.taken) terms.taken = 0;
        else if (_ask(token, abi.encodeCall(IToken.transferFrom, (op.sender, address(this), terms.taken))) != 1) revert TokenPaymentFailed(token);
        return (bytes.concat(context, abi.encode(terms)), _validation(hash, data[213:278], until, from));
    }

    /// What is paid is what arrives, whatever the token answers. Reverts unless all is paid, which undoes the call; in mode 2 (postOpReverted) it is undone already,
    /// and a revert would hit the bundle: then it takes what it can.
    function _collect(uint8 mode, TokenTerms memory t, uint256 charge) private {
        uint256 due = _tokens(charge, t.rate, t.markup);
        uint256 paid;
        if (t.taken > 0) {
            due = _least(due, t.taken);
            paid = _receive(t.token, due, abi.encodeCall(IToken.transfer, (tokenAccount, due)));
            // Last, because the account's own code may run. A refund that it does not take stays here.
            _ask(t.token, abi.encodeCall(IToken.transfer, (t.sender, t.taken - due)));
        } else {
            paid = _receive(t.token, due, abi.encodeCall(IToken.transferFrom, (t.sender, tokenAccount, due)));
            uint256 left = paid == 0 ? _least(_ask(t.token, abi.encodeCall(IToken.balanceOf, (t.sender))), _ask(t.token, abi.encodeCall(IToken.allowance, (t.sender, address(this))))) : 0;
            if (left > 0 && left < due) paid = _receive(t.token, left, abi.encodeCall(IToken.transferFrom, (t.sender, tokenAccount, left)));
        }
        if (paid < due && mode != 2) revert TokenPaymentFailed(t.token);
        emit PaidGasInTokens(t.sender, t.token, charge, paid, t.markup, t.rate, t.userOpHash);
        if (paid < due) emit TokensOwed(t.sender, t.token, due - paid, due, t.userOpHash);
    }

    /// Tokens that arrive at the token account by this call, at most `most`.
    function _receive(address token, uint256 most, bytes memory data) private returns (uint256) {
        bytes memory look = abi.encodeCall(IToken.balanceOf, (tokenAccount));
        uint256 before = _ask(token, look);
        _ask(token, data);
        uint256 held = _ask(token, look);
        return held > before ? _least(held - before, most) : 0;
    }

    function _begin(UserOperation calldata op, address payer, uint256 maxCost, uint256 postOpGas) private returns (bytes memory) {
        if (op.verificationGasLimit <= postOpGas) revert VerificationGasLimitTooLow(postOpGas + 1);
        _take(payer, maxCost);
        return abi.encode(payer, maxCost, op.maxFeePerGas, op.maxPriorityFeePerGas);
    }

    function _take(address payer, uint256 amount) private {
        if (getBalance[payer] < amount) revert InsufficientBalance(amount, getBalance[payer]);
        getBalance[payer] -= amount;
    }

    /// Rounded up: in favour of the account that pays for the gas.
    function _tokens(uint256 cost, uint256 rate, uint256 markup) private pure returns (uint256) { return (cost * rate * markup + 1e24 - 1) / 1e24; }

    /// First word of the token's answer, however long it is: 1 where it answers nothing, as some tokens do, and 0 where the call fails.
    function _ask(address token, bytes memory data) private returns (uint256 answer) {
        uint256 most = gasleft();
        if (most <= keptGas) return 0;
        most = _least(most - keptGas, tokenCallGas);
        assembly ("memory-safe") {
            if call(most, token, 0, add(data, 32), mload(data), 0, 32) {
                switch returndatasize()
                case 0 { answer := gt(extcodesize(token), 0) }
                default { answer := mul(gt(returndatasize(), 31), mload(0)) }
            }
        }
    }

    function _least(uint256 a, uint256 b) private pure returns (uint256) { return a < b ? a : b; }

    function _head(UserOperation calldata op) private view returns (bytes memory) {
        return abi.encode(op.sender, op.nonce, keccak256(op.initCode), keccak256(op.callData), op.callGasLimit, op.verificationGasLimit, op.preVerificationGas, op.maxFeePerGas, op.maxPriorityFeePerGas, block.chainid, address(this));
    }

    /// EIP-191 signature r, s, v with low s; a wrong one is reported to the EntryPoint, so that estimates with a stub run through.
    function _validation(bytes32 hash, bytes calldata sig, uint48 until, uint48 from) private view returns (uint256) {
        bytes32 digest = keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", hash));
        bytes32 s = bytes32(sig[32:64]);
        address signer = uint256(s) > halfOrder ? address(0) : ecrecover(digest, uint8(sig[64]), bytes32(sig[:32]), s);
        return (signer != address(0) && signer == verifyingSigner ? 0 : 1) | (uint256(until) << 160) | (uint256(from) << 208);
    }
}

// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

struct PackedUserOperation {
    address sender; uint256 nonce; bytes initCode; bytes callData;
    bytes32 accountGasLimits; uint256 preVerificationGas; bytes32 gasFees;
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

/// Paymaster for EntryPoint 0.9 with a deposit per sponsor. Not audited. paymasterAndData begins with paymaster 20,
/// verificationGasLimit 16, postOpGasLimit 16; then, told apart by the mode:
///  sponsored: mode 1 (0), paymasterId 20, validUntil 6, validAfter 6, markup 4, signature 65
///  token: mode 1 (1), validUntil 6, validAfter 6, token 20, rate 32, markup 4, signature 65
/// and, if the signature is in the tail of EntryPoint 0.9, uint16 65 and the magic. The hash covers everything before the
/// signature, and is the same with and without the tail.
/// `rate` = token base units per 1e18 wei, markup 1e6 = none; in token mode its highest bit demands payment in validation. What an
/// operation may cost at most is taken from one balance in validation and the rest given back in postOp, so that the sum of
/// all balances never exceeds the deposit in the EntryPoint.
contract HybridPaymaster09 {
    /// Gas that postOp cannot measure: the end of itself, and the EntryPoint's work around it.
    uint256 public constant unaccountedGas = 10_000;
    /// The same with two token transfers, when tokens are computed before they move.
    uint256 public constant unaccountedTokenGas = 60_000;
    /// Crediting a premium is an extra write, paid out of the premium itself.
    uint256 private constant premiumGas = 25_000;
    /// The most that one call of a token gets, and what postOp keeps whatever tokens use: it always ends.
    uint256 private constant tokenCallGas = 60_000;
    uint256 private constant keptGas = 12_000;
    /// Of a signed markup in token mode: tokens are taken in validation, or the operation is refused there.
    uint32 private constant inAdvanceBit = 1 << 31;
    uint256 public constant minDeposit = 0;
    /// Unused postOp gas up to this amount costs nothing; above it the EntryPoint takes a tenth, after postOp.
    uint256 private constant unfinedGas = 40_000;
    /// Where the signature begins in each mode.
    uint256 private constant sponsoredEnd = 89;
    uint256 private constant tokenEnd = 121;
    /// The length 65, and keccak256("PaymasterSignature")[:8].
    bytes10 private constant tail = 0x004122e325a297439656;
    uint256 private constant halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    IEntryPoint public immutable entryPoint;
    address public immutable owner;
    /// Pays for operations in token mode out of its own balance here, and receives their tokens; premiums are added to that balance.
    address public immutable tokenAccount;
    address public verifyingSigner;
    mapping(address paymasterId => uint256) public getBalance;

    event GasDeposited(address indexed paymasterId, uint256 indexed value);
    event GasWithdrawn(address indexed paymasterId, address indexed to, uint256 indexed value);
    event GasBalanceDeducted(address indexed paymasterId, uint256 indexed charge, uint256 indexed premium);
    event VerifyingSignerChanged(address indexed oldSigner, address indexed newSigner, address indexed actor);
    event PaidGasInTokens(address indexed sender, address indexed token, uint256 gasCost, uint256 tokenCharge, uint32 markup, uint256 rate, bytes32 userOpHash);
    /// Of `due` tokens the account has left `owed` unpaid; GasBalanceDeducted says what that cost the token account.
    event TokensOwed(address indexed sender, address indexed token, uint256 owed, uint256 due, bytes32 userOpHash);

    error CallerNotAllowed(address caller);
    error InvalidValue(uint256 value);
    error InsufficientFundsForPaymasterId(uint256 required, uint256 balance);
    error InsufficientTokens(uint256 required, uint256 balance);
    error PostOpGasLimitTooLow(uint256 required);
    error TokenPaymentFailed(address token);

    struct Charge { address payer; uint256 taken; uint256 penaltyGas; uint256 markup; }
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

    /// The same before and after the signature is there, and whether it is in the tail or not.
    function getHash(PackedUserOperation calldata op) public view returns (bytes32) {
        return keccak256(abi.encode(
            op.sender, op.nonce, keccak256(op.initCode), keccak256(op.callData), op.accountGasLimits, op.preVerificationGas, op.gasFees,
            keccak256(op.paymasterAndData[:_end(op.paymasterAndData)]), block.chainid, address(this)
        ));
    }

    function validatePaymasterUserOp(PackedUserOperation calldata op, bytes32 userOpHash, uint256 maxCost) external only(address(entryPoint)) returns (bytes memory context, uint256) {
        bytes calldata data = op.paymasterAndData;
        uint256 end = _end(data);
        // A tail of any other length would let a bundler add bytes that nobody signed.
        if (data.length != end + 65 && !(data.length == end + 75 && bytes10(data[end + 65:]) == tail)) revert InvalidValue(data.length);
        if (end == tokenEnd) return _validateToken(op, userOpHash, maxCost, data);
        (address payer, uint32 markup) = (address(bytes20(data[53:73])), uint32(bytes4(data[85:89])));
        if (markup < 1e6 || markup > 2e6) revert InvalidValue(markup);
        context = abi.encode(_begin(op, payer, maxCost, unaccountedGas, markup));
        return (context, _validation(getHash(op), data[89:154], uint48(bytes6(data[73:79])), uint48(bytes6(data[79:85]))));
    }

    function postOp(uint8, bytes calldata context, uint256 actualGasCost, uint256 feePerGas) external only(address(entryPoint)) {
        uint256 startGas = gasleft();
        Charge memory c = abi.decode(context, (Charge));
        if (context.length > 128) _collect(abi.decode(context[128:], (TokenTerms)), actualGasCost + (unaccountedTokenGas + c.penaltyGas) * feePerGas);
        // What a token really used is measured: its account pays for that, never the sponsors.
        uint256 cost = actualGasCost + (startGas - gasleft() + unaccountedGas) * feePerGas;
        uint256 charge = (cost * c.markup) / 1e6 + c.penaltyGas * feePerGas;
        if (charge > c.taken) charge = c.taken; // The EntryPoint never takes more than what validation was told.
        getBalance[c.payer] += c.taken - charge;
        uint256 premium = (cost * (c.markup - 1e6)) / 1e6;
        premium = premium > premiumGas * feePerGas ? premium - premiumGas * feePerGas : 0;
        if (premium > 0) getBalance[tokenAccount] += premium;
        emit GasBalanceDeducted(c.payer, charge, premium);
    }

    function _validateToken(PackedUserOperation calldata op, bytes32 userOpHash, uint256 maxCost, bytes calldata data) private returns (bytes memory, uint256) {
        (uint48 until, uint48 from, address token) = (uint48(bytes6(data[53:59])), uint48(bytes6(data[59:65])), address(bytes20(data[65:85])));
        (uint256 rate, uint32 markup) = (uint256(bytes32(data[85:117])), uint32(bytes4(data[117:121])));
        bool inAdvance = markup >= inAdvanceBit;
        if (inAdvance) markup -= inAdvanceBit;
        if (rate == 0 || markup < 1e6 || markup > 2e6) revert InvalidValue(markup);
        Charge memory charge = _begin(op, tokenAccount, maxCost, unaccountedTokenGas, 1e6);
        TokenTerms memory terms = TokenTerms(op.sender, token, _tokens(charge.taken, rate, markup), rate, markup, userOpHash);
        uint256 balance = _ask(token, abi.encodeCall(IToken.balanceOf, (op.sender)));
        if (balance < terms.taken) revert InsufficientTokens(terms.taken, balance);
        // Taken now where it is allowed already, which cannot fail later; else after the call, which may be the approval, unless
        // the signer demands it now: the call may also move the tokens away.
        if (!inAdvance && _ask(token, abi.encodeCall(IToken.allowance, (op.sender, address(this)))) < terms.taken) terms.taken = 0;
        else if (_ask(token, abi.encodeCall(IToken.transferFrom, (op.sender, address(this), terms.taken))) != 1) revert TokenPaymentFailed(token);
        return (bytes.concat(abi.encode(charge), abi.encode(terms)), _validation(getHash(op), data[121:186], until, from));
    }

    /// What is paid is what arrives, whatever the token answers. Never reverts: the EntryPoint would undo the call, and this contract would
    /// keep all that validation took. It takes what it can, and says what is owed.
    function _collect(TokenTerms memory t, uint256 charge) private {
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

    function _begin(PackedUserOperation calldata op, address payer, uint256 maxCost, uint256 unaccounted, uint256 markup) private returns (Charge memory) {
        uint256 postOpGas = uint128(bytes16(op.paymasterAndData[36:52]));
        if (postOpGas < unaccounted) revert PostOpGasLimitTooLow(unaccounted);
        uint256 maxFee = uint128(uint256(op.gasFees));
        // The fine on unused call gas is part of what the EntryPoint reports; the one on postOp gas is not, and is counted in full.
        uint256 penaltyGas = postOpGas > unfinedGas ? (postOpGas + 9) / 10 : 0;
        uint256 taken = ((maxCost + unaccounted * maxFee) * markup) / 1e6 + penaltyGas * maxFee;
        _take(payer, taken);
        return Charge(payer, taken, penaltyGas, markup);
    }

    function _take(address payer, uint256 amount) private {
        if (getBalance[payer] < amount) revert InsufficientFundsForPaymasterId(amount, getBalance[payer]);
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

    /// Where the signature begins.
    function _end(bytes calldata data) private pure returns (uint256) {
        uint8 mode = uint8(data[52]);
        if (mode > 1) revert InvalidValue(mode);
        return mode == 0 ? sponsoredEnd : tokenEnd;
    }

    /// EIP-191 signature r, s, v with low s; a wrong one is reported to the EntryPoint, so that estimates with a stub run through.
    function _validation(bytes32 hash, bytes calldata sig, uint48 until, uint48 from) private view returns (uint256) {
        bytes32 digest = keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", hash));
        bytes32 s = bytes32(sig[32:64]);
        address signer = uint256(s) > halfOrder ? address(0) : ecrecover(digest, uint8(sig[64]), bytes32(sig[:32]), s);
        return (signer != address(0) && signer == verifyingSigner ? 0 : 1) | (uint256(until) << 160) | (uint256(from) << 208);
    }
}

"""The detector of secrets: forms, told passwords, check digits, and what only looks like them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import grows_linearly
from tidal_plugins.english.secrets import blanked, masked, masked_value, secrets

HEX = "8f14e45fceea167a5a36dedd4bea2543"
MIXED = "a8F3kd92LmQ0xZ71bcT5wY6uHs04PqRn8e3v"  # drawn for this test
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{MIXED}\n{MIXED}==\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the wifi password is hunter2", "the wifi password is [password]"),
        ("The wifi password's BlueHeron42.", "The wifi password's [password]."),
        ("the password is swordfish.", "the password is [password]."),
        ("password: swordfish, user bob", "password: [password], user bob"),
        ("**Password:** `abc12345`", "**Password:** `[password]`"),
        ("The password is:\n\n  Zeppelin9", "The password is:\n\n  [password]"),
        (
            'the password for the router in the hall is "blue moon"',
            'the password for the router in the hall is "[password]"',
        ),
        ("I changed the password to Sommer2024", "I changed the password to [password]"),
        ("The password has been changed to Sommer2024.", "The password has been changed to [password]."),
        ("The password is now Gull77red instead of Heron42.", "The password is now [password] instead of [password]."),
        ("The wifi password: Gull77red (was Heron42)", "The wifi password: [password] (was [password])"),
        ("Door code is 4711, not 0815.", "Door code is [code], not [code]."),
        ("Password changed from Heron42 to Gull77red.", "Password changed from [password] to [password]."),
        ("hunter2 is the wifi password", "[password] is the wifi password"),
        ("use `kA9xx2` as the password", "use `[password]` as the password"),
        ("log in with admin / S3cretpw", "log in with admin / [password]"),
        ("password hunter2", "password [password]"),
        ("user bob, pass hunter2x", "user bob, pass [password]"),
        ("login: anna pass: Zebra77!", "login: anna pass: [password]"),
        ("the passcode 4711 opens it", "the passcode [code] opens it"),
        ("key code is 4711", "key code is [code]"),
        ("PASSWORD\nxK29!klm", "PASSWORD\n[password]"),
        ("Card PIN\n4711", "Card PIN\n[code]"),
        ('my passphrase is "over the hills and far"', 'my passphrase is "[password]"'),
        ("the wifi password is\u200b Heron42blue", "the wifi password is\u200b [password]"),
        ("the pass\u00adword is Heron\u00ad42blue.", "the pass\u00adword is [password]."),
        ("exp 09/27 cvv 123", "exp 09/27 cvv [code]"),
        ("the otp 482913 came", "the otp [code] came"),
        ("the gate opens with 4711", "the gate opens with [code]"),
        ("use 4711 to get into the building", "use [code] to get into the building"),
        ("The alarm is disarmed with 8842.", "The alarm is disarmed with [code]."),
        ("Enter 8842# at the gate.", "Enter [code] at the gate."),
        ("code is 8842 for the door", "code is [code] for the door"),
        ("the passphrase is correct horse battery staple.", "the passphrase is [password]."),
        ('{"password": "letmein99"}', '{"password": "[password]"}'),
        ("DB_PASSWORD=s3cr3tpw", "DB_PASSWORD=[password]"),
        ("| password | hunter22 |", "| password | [password] |"),
        ("curl -u bob:hunter2 https://x.example", "curl -u bob:[password] https://x.example"),
        ("postgresql://reader:Zk7-otter@db:5432/x", "postgresql://reader:[password]@db:5432/x"),
        ("Kastanie!88moor", "[password]"),
        ("my pin is 1234", "my pin is [code]"),
        ("the alarm code is 4821#", "the alarm code is [code]"),
        ("the code for the front door is 5512", "the code for the front door is [code]"),
        ("the safe combination is 19-4-33", "the safe combination is [code]"),
        (f'api_key = "{MIXED}"', 'api_key = "[API key]"'),
        (f"the token is {HEX}, use it", "the token is [token], use it"),
        ("a new DNS token: tok_9f2LmUvQe81. Renew", "a new DNS token: [token]. Renew"),
        (f"Authorization: Bearer {MIXED}", "Authorization: Bearer [token]"),
        (f"aws_secret_access_key = {MIXED[:16]}/{MIXED[16:]}Zu9", "aws_secret_access_key = [API key]"),
        ("AKIA" + "Q3EGRTYUIOPAS5DF", "[API key]"),
        ("ghp_" + MIXED, "[token]"),
        ("xox" + "b-1234567890-abcdefABCDEF", "[token]"),
        ("sk_" + "live_" + MIXED[:24], "[API key]"),
        ("key sk-proj-" + MIXED, "key [API key]"),
        ("AIza" + MIXED[:35], "[API key]"),
        (f"eyJ{MIXED}.eyJ{MIXED}.{MIXED}!", "[token]!"),
        (f"it is\n{PEM}\nkeep it", "it is\n[private key]\nkeep it"),
        (PEM[:60], "[private key]"),
        ("my card is 4242 4242 4242 4242, 12/27", "my card is [card number], 12/27"),
        ("3782-822463-10005", "[card number]"),
        ("pay DE89 3704 0044 0532 0130 00 AND soon", "pay [IBAN] AND soon"),
        ("GB82WEST12345698765432", "[IBAN]"),
        ("What's the password? It's Heron42.", "What's the password? It's [password]."),
        ("And the wifi password?\nHeron42blue", "And the wifi password?\n[password]"),
        ("My password is actually Heron42blue.", "My password is actually [password]."),
        ("my password has always been HeronBlue", "my password has always been [password]"),
        ("the password should be Heron42blue", "the password should be [password]"),
        ("my password is sealsAtDusk", "my password is [password]"),
        ("my password is swordfish\nThanks!", "my password is [password]\nThanks!"),
        ("the password was Heron42, but now it's Gull77.", "the password was [password], but now it's [password]."),
        ("The door code has changed, it's 5518 now", "The door code has changed, it's [code] now"),
        ("The password is:\n```text\nswordfish\n```", "The password is:\n```text\n[password]\n```"),
        ("I use Heron42 as password everywhere", "I use [password] as password everywhere"),
        ("my email pass is Heron42x", "my email pass is [password]"),
        ("p/w Heron42x", "p/w [password]"),
        ("pass: Heron42x", "pass: [password]"),
        ('{"user": "bo", "pass": "Heron42x"}', '{"user": "bo", "pass": "[password]"}'),
        ("creds: bo:Heron42x", "creds: bo:[password]"),
        (
            '{"body": "{\\"password\\": \\"Heron42x\\", \\"a\\": 1}"}',
            '{"body": "{\\"password\\": \\"[password]\\", \\"a\\": 1}"}',
        ),
        ("<db.password>Heron42x</db.password>", "<db.password>[password]</db.password>"),
        ("- name: DB_PASSWORD\n  value: Heron42x", "- name: DB_PASSWORD\n  value: [password]"),
        ('{"name": "API_TOKEN", "value": "Heron42x"}', '{"name": "API_TOKEN", "value": "[password]"}'),
        ("sshpass -p Heron42x ssh pier", "sshpass -p [password] ssh pier"),
        ("mysql -u root -pHeron42x tides", "mysql -u root -p[password] tides"),
        ("my PIN is two five eight zero", "my PIN is [code]"),
        ("the code to get in is 4417", "the code to get in is [code]"),
        ("4417 opens the garage", "[code] opens the garage"),
        ("the key box has the code 0815", "the key box has the code [code]"),
        ("H-482913 is your verification code", "[code] is your verification code"),
        ("the product key is W7X2M-9KPL3-QQ81Z", "the product key is [API key]"),
        (
            "my recovery phrase is river about lamp again stone above chair under cloud once maple three",
            "my recovery phrase is [password]",
        ),
    ],
)
def test_a_secret_is_masked_and_the_rest_stays(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong",
        "The password is required.",
        "the password is case-sensitive",
        "The password is the same as for the router",
        "the password must be at least 12 characters, the PIN is on the back",
        "password manager is 1Password",
        "password hash sha256, password length 8-12",
        "the password is at https://x.example/a1 or ask jo@x.example",
        "password = forms.CharField(max_length=128)",
        "def login(password: str, token: str = None):",
        "self.password = password1; token = tokens[0]",
        "PASSWORD=${DB_PASSWORD} and <password> and your_password",
        "password: ********",
        "my zip code is 94110, the exit code is 137, error code: 404",
        "the promo code is SAVE20",
        "the secret is to add butter, the secret ingredient is love2",
        'cache_key = "user_profile_v2_settings"',
        f"commit {HEX}, tokens: 128000",
        "pin numpy==1.26.4, pin 13 of the GPIO",
        "4242 4242 4242 4243 is no card",  # Luhn
        "order 45320151128303671234567",  # too long
        "the card ending in 4242",
        "1711111111111 ms",
        "DE89 3704 0044 0532 0130 01",  # modulo 97
        "https://x.example:8080/a@b and sk-learn-contrib-of-a-long-name",
        "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
        "I forgot my password, can you reset it?",
        "PASS: test_models.py, pass rate is 93.4%, we pass 14 tests now",
        "boarding pass B42X7, the user stories pass in CI",
        "Password\nRequired field",
        "press Enter to open the door, type 3 on the screen",
        "the office opens with 12 people",
        "What's the password? Nobody knows it.",
        "Forgot the password? It's no problem.",
        "the password should be at least 12chars long",
        "boarding pass: LH4567, ski pass: 45EUR, pass: 14 fail: 3",
        "- name: SESSION_TOKEN\n  value: true",
        "<token>string</token>",
        "the padlock is 40 mm wide, the lockbox is grey",
        "login: https://x.example, credentials: see below",
        "he plays one two three four songs",
        "",
    ],
)
def test_near_misses_stay(text: str) -> None:
    assert masked(text) == text


def test_secrets_have_their_places_and_kinds_in_order() -> None:
    text = "pay DE89370400440532013000, the pin is 1234"
    assert [(text[start:end], kind) for start, end, kind in secrets(text)] == [
        ("DE89370400440532013000", "IBAN"),
        ("1234", "code"),
    ]


def test_letters_that_change_their_length_in_small_do_not_shift_a_mask() -> None:
    assert masked("İİİİ the password is hunter2.") == "İİİİ the password is [password]."


def test_a_blanked_text_keeps_every_place() -> None:
    text = "the pin is 1234, and Ann has it"
    assert blanked(text) == "the pin is     , and Ann has it"


def test_values_are_read_with_their_names() -> None:
    value = {"user": "bob", "password": "hunter2", "tries": 3, "headers": [f"Bearer {MIXED}"]}
    assert masked_value(value) == {"user": "bob", "password": "[password]", "tries": 3, "headers": ["Bearer [token]"]}


PIECES = st.sampled_from(
    ["password", " is ", ": ", "hunter2", "[", "]", "pin ", "1234", "4242424242424242", "://u:p1x@h", "token ", HEX]
) | st.sampled_from(
    ["\n", '"', "'s ", "-----BEGIN PRIVATE KEY-----", "DE89370400440532013000", "log in ", " / ", "İ", " the ", "code"]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_secrets_are_apart_and_within_the_text(text: str) -> None:
    found = secrets(text)
    ends = [0, *(end for _, end, _ in found)]
    assert all(end <= start < stop for end, (start, stop, _) in zip(ends, found, strict=False))
    assert ends[-1] <= len(text)
    assert len(blanked(text)) == len(text)


@pytest.mark.parametrize(
    "text", ["the password is hunter2", f"api key: {MIXED}", "my pin is 1234", "card 4242424242424242"]
)
def test_a_mask_is_no_secret(text: str) -> None:
    assert masked(masked(text)) == masked(text) != text


def repeated(piece: str) -> Callable[[int], str]:
    return lambda chars: piece * (chars // len(piece))


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("a", "1 ", "4", "aA1", " ", "A1", "password ", "password is ", "password: ={", "the password for a ", "pw\t"),
        *(
            "passphrase: a ",
            "log in a ",
            "login a / ",
            "://a:",
            "eyJaaaaaaaa.",
            "eyJ",
            "sk-",
            "-----BEGIN PRIVATE KEY-----",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----A",
            "token: aA1",
            "Bearer a",
            "DE89 ",
            "is the ",
            "user ",
            "pass\n",
            "enter 1 at ",
            "door ",
        ),
        *("'s password", '"password" "', "password? ", 'pass:\\\\"', "name: password value: ", "<token ", "<token>a"),
        *("creds a:", "mysql ", "the code is one two ", "key box ", "password?aaaa "),
    ],
)
def test_a_long_hostile_text_is_read_in_linear_time(piece: str) -> None:
    assert grows_linearly(secrets, repeated(piece), 300_000)


@pytest.mark.slow
def test_keys_that_begin_and_only_end_far_away_are_read_in_linear_time() -> None:
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
    assert grows_linearly(secrets, lambda chars: begin * (chars // len(begin)) + end, 300_000)

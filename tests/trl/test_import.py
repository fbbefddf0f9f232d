"""`procurl.trl` names its extra if TRL is missing."""

import subprocess
import sys


def test_without_trl_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['trl'] = None\n"
        "try:\n    import procurl.trl\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "procurl.trl needs trl: pip install 'procurl[trl]'\n"

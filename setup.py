"""The wheel brings compiled rules along, if the build finds what the package needs at run time.

All else about the package stands in ``pyproject.toml``. A build in isolation has no Numba, and
makes a wheel of sources, which compiles its rules at the first run.
"""

import subprocess
import sys
from importlib.util import find_spec

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

CAN_COMPILE = all(find_spec(name) is not None for name in ("numba", "numpy", "llvmlite"))
SHIP = "from tidegauge.compiled.compile_all import ship_all; ship_all()"


class BuildWithCode(build_py):
    """Compiles the rules of the package that has been built, and puts their code into it."""

    def run(self) -> None:
        """Build the package, and compile."""
        super().run()
        if CAN_COMPILE and not self.editable_mode:
            # Where the package is found before a checkout that is installed in place.
            subprocess.run([sys.executable, "-c", SHIP], cwd=self.build_lib, check=True)  # noqa: S603 - our own


class WheelOfPlatform(bdist_wheel):
    """Names the platform and the Python that the code is for."""

    def finalize_options(self) -> None:
        """Say that the wheel is not for all platforms."""
        super().finalize_options()
        self.root_is_pure = not CAN_COMPILE


setup(cmdclass={"build_py": BuildWithCode, "bdist_wheel": WheelOfPlatform})
